package sink

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compressions lists the compressions that a sink can use.
var Compressions = []string{"none", "snappy", "lz4", "zstd"}

// codec compresses record batches. It is safe for concurrent use.
type codec struct {
	// attribute is Kafka's number for the codec, in the lowest bits of a batch's attributes; 0 is none.
	attribute uint16
	// bound is the most that n bytes may become.
	bound func(n int) int
	// compress appends src, compressed, to dst, which has room for bound(len(src)) more.
	compress func(dst, src []byte) []byte
}

func newCodec(name string) (*codec, error) {
	switch name {
	case "none":
		return &codec{}, nil
	case "snappy":
		return &codec{2, s2.MaxEncodedLen, func(dst, src []byte) []byte {
			n := len(dst)
			return dst[:n+len(s2.EncodeSnappy(dst[n:cap(dst)], src))]
		}}, nil
	case "lz4":
		return lz4Codec(), nil
	case "zstd":
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(maxEncoders),
			zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return nil, err
		}
		return &codec{4, enc.MaxEncodedSize, func(dst, src []byte) []byte { return enc.EncodeAll(src, dst) }}, nil
	}
	return nil, fmt.Errorf("compression %q is unknown", name)
}

// lz4Codec writes frames as Kafka's own producers do: independent blocks of 64 KiB, without a checksum of the content (the
// batch has one).
func lz4Codec() *codec {
	type encoder struct {
		w   *lz4.Writer
		dst bytes.Buffer
	}
	pool := sync.Pool{New: func() any {
		e := &encoder{w: lz4.NewWriter(nil)}
		if err := e.w.Apply(lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
			panic("lz4: " + err.Error()) // the options are constants
		}
		return e
	}}
	return &codec{3, func(n int) int { return n + n>>8 + 4*(n>>16) + 64 }, func(dst, src []byte) []byte {
		e := pool.Get().(*encoder)
		defer pool.Put(e)
		e.dst.Reset()
		e.w.Reset(&e.dst)
		// Neither fails: the buffer takes everything.
		e.w.Write(src)
		e.w.Close()
		return append(dst, e.dst.Bytes()...)
	}}
}

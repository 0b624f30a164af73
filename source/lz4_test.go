package source

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// lz4Frame packs content with the options of a writer.
func lz4Frame(t *testing.T, content []byte, options ...lz4.Option) []byte {
	t.Helper()
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return frame.Bytes()
}

// lz4Contents are contents that compress well, a little, and not at all, of sizes around that of a block.
func lz4Contents() (all [][]byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 100, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000} {
		text, random := make([]byte, 0, size+20), make([]byte, size)
		for len(text) < size {
			text = fmt.Appendf(text, `{"user":%d}`, rng.IntN(1000))
		}
		for i := range random {
			random[i] = byte(rng.Uint32())
		}
		all = append(all, text[:size], random, make([]byte, size))
	}
	return append(all, nil)
}

// TestFramesAreReadAsTheLibraryReadsThem, whatever room there is for them and whatever lies in it.
func TestFramesAreReadAsTheLibraryReadsThem(t *testing.T) {
	for i, content := range lz4Contents() {
		for name, options := range map[string][]lz4.Option{
			"default":       nil,
			"no checksum":   {lz4.ChecksumOption(false)},
			"all checksums": {lz4.BlockChecksumOption(true)},
			"64 KiB":        {lz4.BlockSizeOption(lz4.Block64Kb)},
			"with size":     {lz4.SizeOption(uint64(len(content))), lz4.BlockSizeOption(lz4.Block64Kb)},
		} {
			frame := lz4Frame(t, content, options...)
			for _, room := range []int{0, 1, len(content) / 2, len(content), len(content) + 100, 2 * len(content)} {
				dirty := bytes.Repeat([]byte{0xee}, room)
				got, ok := unpackLz4(dirty[:0], frame)
				if !ok || !bytes.Equal(got, content) {
					t.Fatalf("content %d, %s, room %d: ok %t, %d bytes of %d", i, name, room, ok, len(got), len(content))
				}
			}
		}
	}
}

// TestOddAndDamagedFramesAreLeftToTheLibrary: those cut short, linked blocks, several frames, something behind the frame. With
// one byte changed a frame is refused or read to some end; the checksum of the batch has found that before.
func TestOddAndDamagedFramesAreLeftToTheLibrary(t *testing.T) {
	content := bytes.Repeat([]byte("some text, again and "), 200)
	frame := lz4Frame(t, content, lz4.BlockChecksumOption(true))
	for n := range frame {
		if _, ok := unpackLz4(nil, frame[:n]); ok {
			t.Fatalf("the first %d of %d bytes were a frame", n, len(frame))
		}
		for bit := range 8 {
			damaged := bytes.Clone(frame)
			damaged[n] ^= 1 << bit
			unpackLz4(make([]byte, 0, 100), damaged)
		}
	}
	linked := bytes.Clone(frame)
	linked[4] &^= lz4FlagIndependent
	for name, odd := range map[string][]byte{
		"linked blocks": linked,
		"two frames":    append(bytes.Clone(frame), frame...),
		"a byte behind": append(bytes.Clone(frame), 0),
		"not a frame":   content,
	} {
		if _, ok := unpackLz4(nil, odd); ok {
			t.Errorf("%s: taken", name)
		}
	}
	d := newDecompressor()
	want, wantErr := kgo.DefaultDecompressor().Decompress(append(bytes.Clone(frame), frame...), kgo.CodecLz4)
	got, err := d.decompress(append(bytes.Clone(frame), frame...), kgo.CodecLz4)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || !bytes.Equal(got, want) {
		t.Errorf("two frames: %d bytes, %v; the library says %d, %v", len(got), err, len(want), wantErr)
	}
	if _, err := d.decompress(frame[:len(frame)/2], kgo.CodecLz4); err == nil {
		t.Error("half a frame was taken")
	}
}

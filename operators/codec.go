package operators

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// CBOR returns the codec that states use unless a job brings its own: RFC 8949, structs as maps by field name, times with
// nanoseconds. Fields may be added to a struct without a new version: absent ones decode as zero. The version is the
// user's: raise it when old values can no longer be read, and a restore is then refused. Strings, byte slices, int64,
// uint64, float64 and bool are encoded without reflection, to the same bytes.
func CBOR[V any](version int) Codec[V] {
	name := "cbor:" + reflect.TypeFor[V]().String()
	var zero V
	var fast any
	switch any(zero).(type) {
	case string:
		fast = stringCodec{name, version}
	case []byte:
		fast = bytesCodec{name, version}
	case int64:
		fast = int64Codec{name, version}
	case uint64:
		fast = uint64Codec{name, version}
	case float64:
		fast = float64Codec{name, version}
	case bool:
		fast = boolCodec{name, version}
	}
	if c, ok := fast.(Codec[V]); ok {
		return c
	}
	return cborCodec[V]{name, version}
}

var (
	cborEncoder = must(cbor.EncOptions{Time: cbor.TimeRFC3339Nano, TimeTag: cbor.EncTagRequired, InfConvert: cbor.InfConvertNone, NaNConvert: cbor.NaNConvertNone}.UserBufferEncMode())
	cborDecoder = must(cbor.DecOptions{MaxArrayElements: 1 << 27, MaxMapPairs: 1 << 27}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options above are constants
	}
	return v
}

type cborCodec[V any] struct {
	name    string
	version int
}

func (c cborCodec[V]) Type() string { return c.name }
func (c cborCodec[V]) Version() int { return c.version }

func (c cborCodec[V]) Append(dst []byte, v V) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	if err := cborEncoder.MarshalToBuffer(v, b); err != nil {
		return dst, err
	}
	return b.Bytes(), nil
}

func (c cborCodec[V]) Decode(b []byte) (v V, err error) {
	if err = cborDecoder.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("%s: %w", c.name, err)
	}
	return v, nil
}

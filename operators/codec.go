package operators

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// CBOR returns the codec that states use unless a job brings its own: RFC 8949, structs as maps by field name, times with
// nanoseconds. The type may grow from one version of a job to the next (checkpoint.Grows has the rules): fields that are
// new decode as zero from older values, fields that are gone are lost when a value is written next, and numbers may get
// wider; what does not fit is refused at the restore, field by field. Of a type with fields that are not exported, which CBOR does not
// have, no state can be declared, unless their tag is cbor:"-". The version is the user's: raise it when old values
// have another meaning, and a restore is then refused. Strings, byte slices, int64, uint64, float64 and bool are encoded
// without reflection, to the same bytes.
func CBOR[V any](version int) Codec[V] {
	t := reflect.TypeFor[V]()
	id := codecID{"cbor:" + t.String(), version, schemaFor(t), lostIn(t)}
	var zero V
	var fast any
	switch any(zero).(type) {
	case string:
		fast = stringCodec{id}
	case []byte:
		fast = bytesCodec{id}
	case int64:
		fast = int64Codec{id}
	case uint64:
		fast = uint64Codec{id}
	case float64:
		fast = float64Codec{id}
	case bool:
		fast = boolCodec{id}
	}
	if c, ok := fast.(Codec[V]); ok {
		return c
	}
	return cborCodec[V]{id}
}

// codecID is what a CBOR codec says of itself.
type codecID struct {
	name    string
	version int
	schema  string
	lost    error // what of the type it would lose
}

// Type implements [Codec].
func (c codecID) Type() string { return c.name }

// Version implements [Codec].
func (c codecID) Version() int { return c.version }

// Schema implements [Described].
func (c codecID) Schema() string { return c.schema }

var (
	cborEncoder = must(cbor.EncOptions{Time: cbor.TimeRFC3339Nano, TimeTag: cbor.EncTagRequired, InfConvert: cbor.InfConvertNone, NaNConvert: cbor.NaNConvertNone}.UserBufferEncMode())
	// A field's name is matched to the letter, as schemas are compared: a removed field must not come back as another one.
	cborDecoder = must(cbor.DecOptions{MaxArrayElements: 1 << 27, MaxMapPairs: 1 << 27, FieldNameMatching: cbor.FieldNameMatchingCaseSensitive}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options above are constants
	}
	return v
}

type cborCodec[V any] struct{ codecID }

func (c cborCodec[V]) Append(dst []byte, v V) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	if err := cborEncoder.MarshalToBuffer(v, b); err != nil {
		return dst, err
	}
	return b.Bytes(), nil
}

func (c cborCodec[V]) Decode(b []byte) (v V, err error) { return decode[V](c.codecID, b) }

// decode decodes CBOR of any form, such as a value that was written as a narrower type, or null.
func decode[V any](id codecID, b []byte) (v V, err error) {
	if err = cborDecoder.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("%s: %d bytes that begin with %.8x: %w", id.name, len(b), b, err)
	}
	return v, nil
}

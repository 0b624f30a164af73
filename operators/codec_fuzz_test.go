package operators

import (
	"bytes"
	"reflect"
	"testing"
)

// comesBack checks that bytes which a codec takes are, written again, the same value.
func comesBack[V any](t *testing.T, c Codec[V], b []byte) {
	t.Helper()
	v, err := c.Decode(b)
	if err != nil {
		return
	}
	first, err := c.Append(nil, v)
	if err != nil {
		t.Fatalf("%s: %x is %v, which cannot be written: %v", c.Type(), b, v, err)
	}
	again, err := c.Decode(first)
	if err != nil {
		t.Fatalf("%s: %x is written as %x, which cannot be read: %v", c.Type(), b, first, err)
	}
	// A map is written in any order, and NaN is not equal to itself: one of the two will do.
	if second, err := c.Append(nil, again); err != nil || !bytes.Equal(first, second) && !reflect.DeepEqual(v, again) {
		t.Errorf("%s: %x is written as %x and then as %x (%v)", c.Type(), b, first, second, err)
	}
}

// Whatever is in a state's entry, each codec takes it or refuses it; what it takes is the same when it is written and read again.
func FuzzStateCodecs(f *testing.F) {
	f.Add([]byte{0x18, 0x20})
	f.Add([]byte{1, 0x1b, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1, 1, 0x05})
	f.Add([]byte{0xa2, 0x64, 'N', 'a', 'm', 'e', 0x61, 'a', 0x61, 'N', 0x07})
	f.Add([]byte{0x9f, 0x01, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		comesBack(t, CBOR[int64](1), b)
		comesBack(t, CBOR[uint64](1), b)
		comesBack(t, CBOR[float64](1), b)
		comesBack(t, CBOR[bool](1), b)
		comesBack(t, CBOR[string](1), b)
		comesBack(t, CBOR[[]byte](1), b)
		comesBack(t, CBOR[codecStruct](1), b)
		comesBack(t, CBOR[[]int64](1), b)
		comesBack(t, CBOR[map[string]int64](1), b)
		comesBack(t, Codec[pane[int64]](paneCodec[int64]{CBOR[int64](1)}), b)
		comesBack(t, Codec[session[string]](sessionCodec[string]{paneCodec[string]{CBOR[string](1)}}), b)
	})
}

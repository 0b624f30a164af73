package operators

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"
)

type codecStruct struct {
	Name string
	At   time.Time
	N    int
	Tags []string
}

// roundTrip checks a codec against the general one: same bytes, and each reads what the other writes.
func roundTrip[V any](t *testing.T, values ...V) {
	t.Helper()
	c, general := CBOR[V](3), cborCodec[V]{}
	if c.Version() != 3 {
		t.Errorf("%s: version %d", c.Type(), c.Version())
	}
	for _, v := range values {
		b, err := c.Append([]byte("x"), v)
		if err != nil || b[0] != 'x' {
			t.Fatalf("%s: %v: %q, %v", c.Type(), v, b, err)
		}
		b = b[1:]
		want, err := general.Append(nil, v)
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %v is encoded as %x, want %x (%v)", c.Type(), v, b, want, err)
		}
		got, err := c.Decode(b)
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%s: %v comes back as %v (%v)", c.Type(), v, got, err)
		}
		for n := range b {
			if got, err := c.Decode(b[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes decode as %v", c.Type(), n, len(b), got)
			}
		}
		if got, err := c.Decode(append(b, 0)); err == nil {
			t.Errorf("%s: a byte too many decodes as %v", c.Type(), got)
		}
	}
}

func TestCodecsReadWhatTheyWrite(t *testing.T) {
	roundTrip[int64](t, 0, 1, 23, 24, 255, 256, 65535, 65536, 1<<32-1, 1<<32, math.MaxInt64, -1, -24, -25, math.MinInt64)
	roundTrip[uint64](t, 0, 23, 24, math.MaxUint64)
	roundTrip(t, 0.0, 1.5, -1.0, math.MaxFloat64, math.Inf(1), math.Copysign(0, -1))
	roundTrip(t, true, false)
	roundTrip(t, "", "a", "grüße", string(make([]byte, 300)))
	roundTrip(t, nil, []byte{}, []byte("abc"), make([]byte, 70_000))
	roundTrip(t, codecStruct{"a", time.Date(2013, 1, 1, 5, 0, 0, 123456789, time.UTC), 7, []string{"x"}}, codecStruct{Tags: nil})
	roundTrip(t, []int64{1, 2}, []int64{})
	roundTrip(t, map[string]int64{"a": 1})
	roundTrip[int32](t, 5, -5)
}

func TestTypesNameTheGoType(t *testing.T) {
	for want, got := range map[string]string{
		"cbor:int64":                 CBOR[int64](1).Type(),
		"cbor:operators.codecStruct": CBOR[codecStruct](1).Type(),
		"cbor:[]uint8":               CBOR[[]byte](1).Type(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzBasicCodecsTakeAnyBytes(f *testing.F) {
	f.Add([]byte{0x1b, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := CBOR[int64](1).Decode(b); err == nil {
			if w, err := (cborCodec[int64]{}).Decode(b); err != nil || v != w {
				t.Errorf("%x is %d, and by the general codec %d (%v)", b, v, w, err)
			}
		}
		_, _ = CBOR[string](1).Decode(b)
		_, _ = CBOR[[]byte](1).Decode(b)
	})
}

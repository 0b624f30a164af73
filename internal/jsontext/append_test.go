package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

// marshal is encoding/json without the escapes of HTML.
func marshal(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func TestFloatsAreWrittenAsEncodingJSONDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(f float64) {
		t.Helper()
		want := "null"
		if f-f == 0 {
			want = marshal(t, f)
		}
		if got := AppendFloat(nil, f); string(got) != want {
			t.Errorf("%v is written as %s, want %s", f, got, want)
		}
		want = "null"
		if f := float32(f); f-f == 0 {
			want = marshal(t, f)
		}
		if got := AppendFloat32(nil, float32(f)); string(got) != want {
			t.Errorf("float32 %v is written as %s, want %s", f, got, want)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 0.01, 0.001, -0.05, 12.3, 99.99, 1e5, 999999.99, 1e6, 1e-6, 1e-7, 1.5e-9, 1e-300, 1e20, 1e21, 1e300,
		math.MaxFloat32, math.MaxFloat64, math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1), 0.30000000000000004, 1.005} {
		check(f)
	}
	for range 50_000 {
		check(math.Float64frombits(rng.Uint64()))
		check(float64(math.Float32frombits(rng.Uint32())))
		check(float64(rng.IntN(20_000_000)-10_000_000) / 100)
		check(rng.Float64() * 1e6)
	}
}

func FuzzStringsAreWrittenAsEncodingJSONDoes(f *testing.F) {
	f.Add("plain")
	f.Add("quote \" backslash \\ control \x01 \n\r\t\b\f del \x7f é 😀 \xff\xc0 \u2028\u2029 <&> \ufffd \xe2\x80")
	f.Fuzz(func(t *testing.T, s string) {
		text := string(AppendString([]byte("x"), s)[1:])
		if want := marshal(t, s); text != want {
			t.Fatalf("%q is written as %s, want %s", s, text, want)
		}
		end, escaped := ScanString(text, 0)
		if end != len(text) {
			t.Fatalf("%s: the string ends at %d", text, end)
		}
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got := text[1 : end-1]
		if escaped {
			got = string(AppendUnescaped(nil, got))
		}
		if got != want {
			t.Fatalf("%s comes back as %q, want %q", text, got, want)
		}
	})
}

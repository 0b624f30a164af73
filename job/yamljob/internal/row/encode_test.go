package row

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestFloatsAreWrittenAsEncodingJSONDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(f float64) {
		t.Helper()
		want, err := json.Marshal(f)
		if err != nil {
			want = []byte("null")
		}
		if got := AppendFloat(nil, f); string(got) != string(want) {
			t.Errorf("%v is written as %s, want %s", f, got, want)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 0.01, 0.001, -0.05, 12.3, 99.99, 1e5, 999999.99, 1e6, 1e-7, 1.5e-9, 1e-300, 1e20, 1e21, 1e300,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), 0.30000000000000004, 1.005} {
		check(f)
	}
	for range 100_000 {
		check(math.Float64frombits(rng.Uint64()))
		check(float64(rng.IntN(20_000_000)-10_000_000) / 100)
		check(rng.Float64() * 1e6)
	}
}

func TestTimesAreWrittenWithMilliseconds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		ms := rng.Int64N(253402300800000+62167219200000) - 62167219200000
		want := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
		if got := string(AppendTime(nil, ms)); got != want {
			t.Fatalf("%d is written as %s, want %s", ms, got, want)
		}
	}
}

func FuzzStringsAreWrittenAsEncodingJSONDoes(f *testing.F) {
	f.Add("plain")
	f.Add("quote \" backslash \\ control \x01 \n\r\t\b\f del \x7f é 😀 \xff\xc0 \u2028 <&>")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		b := AppendString(nil, s)
		want, _ := json.Marshal(s)
		var expected string
		if err := json.Unmarshal(want, &expected); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &back); err != nil || back != expected {
			t.Fatalf("%q is written as %s (%v)", s, b, err)
		}
	})
}

package row

import (
	"math/rand/v2"
	"testing"
	"time"
)

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

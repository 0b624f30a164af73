package checkpoint

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMergeDecision(t *testing.T) {
	many := func(n int, size int64) (out []int64) { return slices.Repeat([]int64{size}, n) }
	for _, tc := range []struct {
		name  string
		sizes []int64
		live  int64
		want  Merge
	}{
		{"few deltas", many(32, 1), 1 << 40, Merge{MergeNothing, 32}},
		{"too many of one size: all become one", many(33, 1), 1 << 40, Merge{MergeDeltas, 0}},
		{"large ones are left alone", append([]int64{100_000, 10_000}, many(31, 1)...), 1 << 40, Merge{MergeDeltas, 2}},
		{"enough bytes for a base", []int64{1 << 20, 63 << 20}, 1 << 40, Merge{Kind: MergeBase}},
		{"four times what is alive: all become one", many(9, 1<<20), 9 << 18, Merge{MergeDeltas, 0}},
		{"not four times", many(9, 1<<20), 9<<18 + 1, Merge{MergeNothing, 9}},
		{"four times, but little", many(7, 1<<20), 1, Merge{MergeNothing, 7}},
		{"the last merge left more than what is alive", []int64{4 << 20, 10 << 20}, 1 << 20, Merge{MergeNothing, 2}},
		{"rather than a base", []int64{7 << 20, 60 << 20}, 7 << 20, Merge{MergeDeltas, 0}},
		{"one that is too large", []int64{65 << 20}, 1, Merge{Kind: MergeBase}},
	} {
		if got := DecideMerge(tc.sizes, tc.live, 64*MiB); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// However long a job runs without a base, each byte is rewritten a few times only and few deltas are listed.
func TestMergingIsLogarithmic(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var sizes []int64
	var written, rewritten int64
	most := 0
	for written < 60<<20 {
		s := 500 + rnd.Int64N(1000)
		written += s
		sizes = append(sizes, s)
		if m := DecideMerge(sizes, 1<<40, 64*MiB); m.Kind == MergeDeltas {
			var sum int64
			for _, s := range sizes[m.From:] {
				sum += s
			}
			rewritten += sum
			sizes = append(sizes[:m.From], sum)
		} else if m.Kind == MergeBase {
			t.Fatal("a base before its time")
		}
		most = max(most, len(sizes))
	}
	if rewritten > 6*written || most > maxDeltas+1 {
		t.Errorf("%d MiB written, %d MiB rewritten, at most %d deltas", written>>20, rewritten>>20, most)
	}
}

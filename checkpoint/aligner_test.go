package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestAligner runs the transcripts of testdata/aligner: "new channels=N [at_least_once]", "barrier id=N channel=C",
// "end channel=C", and "state", which prints what is held back and what is waited for.
func TestAligner(t *testing.T) {
	datadriven.Walk(t, "testdata/aligner", func(t *testing.T, path string) {
		var a *Aligner
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var channel, channels int
			var id int64
			d.MaybeScanArgs(t, "channel", &channel)
			d.MaybeScanArgs(t, "channels", &channels)
			d.MaybeScanArgs(t, "id", &id)
			switch d.Cmd {
			case "new":
				mode := ExactlyOnce
				if d.HasArg("at_least_once") {
					mode = AtLeastOnce
				}
				a = NewAligner(channels, mode)
				return ""
			case "barrier":
				return lines(a.Barrier(channel, id))
			case "end":
				return lines(a.End(channel))
			case "state":
				var blocked []int
				for i := range a.seen {
					if a.Blocked(i) {
						blocked = append(blocked, i)
					}
				}
				return fmt.Sprintf("open %d, blocked %v, waits for %v\n", a.Open(), blocked, a.WaitsFor())
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func lines[T fmt.Stringer](items []T) string {
	var b strings.Builder
	for _, item := range items {
		fmt.Fprintln(&b, item)
	}
	return b.String()
}

// Whatever the order in which channels deliver: each checkpoint is snapshotted once, in order, and only when every
// channel has delivered its barrier and, with exactly_once, nothing behind it.
func TestSnapshotSeesWhatIsBeforeEachBarrierAndNothingElse(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		channels, checkpoints := 1+rnd.IntN(4), int64(1+rnd.IntN(5))
		mode := []Mode{ExactlyOnce, AtLeastOnce}[rnd.IntN(2)]
		a := NewAligner(channels, mode)
		delivered := make([]int64, channels)
		next := int64(1)
		for next <= checkpoints {
			c := rnd.IntN(channels)
			if a.Blocked(c) || delivered[c] == checkpoints {
				continue
			}
			delivered[c]++
			for _, e := range a.Barrier(c, delivered[c]) {
				switch e.Kind {
				case AlignFail:
					t.Fatalf("seed %d: %v", seed, e)
				case AlignBlock:
					if mode == AtLeastOnce {
						t.Fatalf("seed %d: at_least_once blocks", seed)
					}
				case AlignSnapshot:
					if e.Checkpoint != next {
						t.Fatalf("seed %d: snapshot %d, want %d", seed, e.Checkpoint, next)
					}
					for i, n := range delivered {
						if n < next || mode == ExactlyOnce && n != next {
							t.Fatalf("seed %d: snapshot %d with channel %d at barrier %d", seed, next, i, n)
						}
					}
					next++
				}
			}
		}
	}
}

//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

func TestSecondProcessTakesOverAndTheFirstSaysSo(t *testing.T) {
	j := newSums(t, shared(t))
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 2000)
	first := j.start(t)
	j.waitForOutput(t, 1000, 20*time.Second)

	second := j.start(t)
	if code := first.Exit(30 * time.Second); code != cli.ExitTakenOver {
		t.Errorf("the first process ended with exit code %d, want %d:\n%s", code, cli.ExitTakenOver, first.Output())
	}
	j.finish(t, feed, second)
}

// A process that was stopped while another took over must not write anything when it wakes.
func TestFrozenProcessWritesNothingWhenItWakes(t *testing.T) {
	j := newSums(t, shared(t))
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 100}, 2000)
	current := j.start(t)
	for range 5 {
		j.waitForMore(t, 500)
		harness.For(t, time.Duration(rng.Int64N(int64(200*time.Millisecond))))
		current.Freeze()
		next := j.start(t)
		j.waitForMore(t, 500)
		current.Thaw()
		if code := current.Exit(30 * time.Second); code != cli.ExitTakenOver {
			t.Errorf("the frozen process ended with exit code %d, want %d:\n%s", code, cli.ExitTakenOver, current.Output())
		}
		current = next
	}
	j.finish(t, feed, current)
}

// C12, C25, C26: processes come and go; none of it is decided by a consumer group's assignment.
func TestCountsStayExactWhileProcessesComeAndGo(t *testing.T) {
	j := newSums(t, shared(t))
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 100}, 2000)
	current := j.start(t)
	for i := range 12 {
		if i%3 == 2 {
			// The one that works leaves in order before the next comes.
			j.stop(t, current)
			current = j.start(t)
			continue
		}
		next := j.program(t).Start(t)
		harness.For(t, time.Duration(rng.Int64N(int64(time.Second))))
		if i%3 == 1 {
			current.Kill()
		}
		j.waitReady(t, next)
		if code := current.Exit(30 * time.Second); i%3 == 0 && code != cli.ExitTakenOver {
			t.Errorf("round %d: exit code %d, want %d:\n%s", i, code, cli.ExitTakenOver, current.Output())
		}
		current = next
	}
	j.finish(t, feed, current)
}

// waitForMore waits until there are this many more results than now: longer than a process that was taken over waits for the
// other one's first checkpoint (checkpoint.WatchFor).
func (j *sumsJob) waitForMore(t *testing.T, records int64) {
	t.Helper()
	begin := j.cluster.End(t, j.out)
	harness.Until(t, checkpoint.WatchFor+30*time.Second, "more results of "+j.name, func() (bool, string) {
		return j.cluster.End(t, j.out) >= begin+records, "the output stands still"
	})
}

// finish ends the input, waits for its results, stops the job and checks the invariants.
func (j *sumsJob) finish(t *testing.T, feed *harness.Feed, last *harness.Process) {
	t.Helper()
	sent := feed.Stop()
	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, last)
	j.checkInvariants(t, sent)
	j.checkState(t, sent)
}

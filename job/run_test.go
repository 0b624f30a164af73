package job_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// running is a job in the background.
type running struct {
	*runtime.Job
	t     *testing.T
	crash context.CancelCauseFunc
	done  chan error
}

func start(t *testing.T, g *job.Graph, o job.Options) *running {
	t.Helper()
	j, err := g.Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, crash := context.WithCancelCause(context.Background())
	r := &running{Job: j, t: t, crash: crash, done: make(chan error, 1)}
	go func() { r.done <- j.Run(ctx) }()
	t.Cleanup(func() { crash(errCrash) })
	return r
}

// kill ends the job as a crash does, and waits until nothing of it is left.
func (r *running) kill() {
	r.crash(errCrash)
	<-r.done
}

func (r *running) stop() {
	r.t.Helper()
	r.Stop()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
}

// past waits until the job has committed n checkpoints more than the given one.
func (r *running) past(checkpoint int64) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("checkpoint %d", checkpoint), func() bool {
		select {
		case err := <-r.done:
			r.t.Fatalf("the job ended: %v", err)
		default:
		}
		return r.Status().Checkpoint >= checkpoint
	})
}

// TestSumsAreExactWhateverTheParallelism is metamorphic: one input, plain loop and jobs of every shape, killed at random.
func TestSumsAreExactWhateverTheParallelism(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			c := newCluster(t, "in", "out")
			o := c.options(time.Duration(5+rnd.IntN(40)) * time.Millisecond)
			o.Checkpoint.MaxConcurrent = 1 + rnd.IntN(3)
			o.Checkpoint.InlineThreshold = checkpoint.Bytes(1 + rnd.IntN(4000)) // deltas in files, in pointers, in both
			o.Checkpoint.BaseAfter = checkpoint.Bytes(1000 + rnd.IntN(20_000))  // bases all the time, or now and then
			o.Checkpoint.Retained = 1 + rnd.IntN(3)
			total := 0
			for range 6 {
				n := 1000 + rnd.IntN(4000)
				c.feed("in", total, n, 97)
				total += n
				o.Parallelism = 1 + rnd.IntN(3)
				j := start(t, sums(1+rnd.IntN(4)), o)
				eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
				// Whether this is before or after the records are committed is as random as the machine. Once all are, there is
				// no further checkpoint.
				more, soFar := j.Status().Checkpoint+int64(rnd.IntN(2)), wantSums(total, 97)
				eventually(t, "a checkpoint or all results", func() bool {
					return j.Status().Checkpoint > more || diff(c.read("out"), soFar) == nil
				})
				j.kill()
			}
			want := wantSums(total, 97)
			j := start(t, sums(2), o)
			eventually(t, "all results", func() bool { return diff(c.read("out"), want) == nil })
			j.stop()
			if err := diff(c.read("out"), want); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestSecondProcessTakesOver(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	c.feed("in", 0, 1000, 10)
	first := start(t, sums(1), o)
	first.past(2)
	second := start(t, sums(1), o)
	eventually(t, "the second to run", func() bool { return second.Status().Phase == runtime.Running })
	c.feed("in", 1000, 1000, 10)
	err := <-first.done
	var taken *checkpoint.TakenOverError
	if !errors.As(err, &taken) {
		t.Fatalf("the first process ended with %v, want a TakenOverError", err)
	}
	eventually(t, "all results", func() bool { return diff(c.read("out"), wantSums(2000, 10)) == nil })
	second.stop()
}

func TestSavepointIsContinuedFrom(t *testing.T) {
	c := newCluster(t, "in", "out", "out2")
	o := c.options(10 * time.Millisecond)
	c.feed("in", 0, 3000, 10)
	j := start(t, sums(2), o)
	eventually(t, "the first results", func() bool { return diff(c.read("out"), wantSums(3000, 10)) == nil })
	dir := filepath.Join(t.TempDir(), "savepoint")
	if err := j.Savepoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	c.feed("in", 3000, 1000, 10)
	eventually(t, "results after the savepoint", func() bool { return diff(c.read("out"), wantSums(4000, 10)) == nil })
	j.stop()

	// A new lineage goes back: the last thousand come again, with exactly the same numbers, after those that are there.
	o.Start = job.Start{From: dir}
	o.Parallelism = 4
	want := wantSums(4000, 10)
	for k, v := range wantSums(4000, 10) {
		want[k] = append(want[k], v[300:]...)
	}
	back := start(t, sums(4), o)
	eventually(t, "the same results again", func() bool { return diff(c.read("out"), want) == nil })
	lineage := back.Status().Lineage
	back.kill()

	// The same flags again do not go back again: a container restarts with the flags it has.
	again := start(t, sums(1), o)
	eventually(t, "the job to run", func() bool { return again.Status().Phase == runtime.Running })
	if got := again.Status().Lineage; got != lineage {
		t.Errorf("the lineage is %s, want %s as before", got, lineage)
	}
	again.stop()
	if err := diff(c.read("out"), want); err != nil {
		t.Fatal(err)
	}
}

func TestIdleJobCommitsNothing(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	c.feed("in", 0, 100, 10)
	j := start(t, sums(1), o)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
	last := j.Status().Checkpoint
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for range 100 {
		<-ticks.C
	}
	if got := j.Status().Checkpoint; got != last {
		t.Errorf("%d checkpoints of an idle job", got-last)
	}
	c.feed("in", 100, 1, 10)
	j.past(last + 1)
	j.stop()
}

func TestBadRecordStopsTheJobAndNamesThePlace(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.produce("in", 2, "k", "not a number")
	err := start(t, sums(1), c.options(10*time.Millisecond)).wait()
	const want = `job sums: source in: topic in partition 2 offset 0: bad record "not a number": `
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("got %v\nwant %s...", err, want)
	}
}

package job_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// firedEarly says that a checkpoint has windows that fired because the job was drained, and is not marked: a job that goes
// on from it would fire them again, with the rest.
func firedEarly(p *checkpoint.Pointer) bool {
	for _, o := range p.Operators {
		if o.Name == "count" && o.Watermark == stream.MaxTime {
			return !p.Drained
		}
	}
	return false
}

// A savepoint waits for the checkpoint under way, and then the job is drained: it is refused, or of before the drain.
func TestASavepointThatWaitsIsNotOneOfADrainedJob(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed("in", 0, 950, 10)
	o := c.options(10 * time.Millisecond)
	var armed atomic.Bool
	var once sync.Once
	held, release := make(chan struct{}), make(chan struct{})
	o.Fault = func(s fault.Step) {
		if armed.Load() && s == fault.Flushed {
			once.Do(func() { close(held); <-release })
		}
	}
	j := start(t, drains(1), o)
	eventually(t, "all to be read", func() bool { return j.reads() == 950 })
	eventually(t, "results", func() bool { return len(c.records("out")) >= 20 })
	armed.Store(true)
	places := t.TempDir()
	go func() { _ = j.Savepoint(context.Background(), filepath.Join(places, "first")) }()
	<-held
	waiting := filepath.Join(places, "waiting")
	answer := make(chan error, 1)
	go func() { answer <- j.Savepoint(context.Background(), waiting) }()
	st, err := j.RequestStop(runtime.StopRequest{Drain: true, Savepoint: filepath.Join(places, "drained")})
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	if got := j.outcome(st); got.Phase != runtime.StopDone {
		t.Errorf("the drain: %+v", got)
	}
	if err := <-answer; err == nil {
		if m := verify(t, waiting); firedEarly(m.Pointer) {
			t.Error("the savepoint has windows that the drain fired, and is not marked as drained")
		}
	}
	_ = j.wait()
	for _, p := range c.pointers(o) {
		if firedEarly(p) {
			t.Errorf("checkpoint %d has windows that the drain fired, and is not marked as drained", p.Checkpoint)
		}
	}
}

// busy is drains with a source that is busy with the value 950 until it is released.
func busy() (g *job.Graph, at, release chan struct{}) {
	at, release = make(chan struct{}), make(chan struct{})
	g = job.New("sums")
	var once sync.Once
	events := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), func(r *stream.Record) (keyed, error) {
		k, err := decodeKeyed(r)
		if k.N == 950 {
			once.Do(func() { close(at); <-release })
		}
		return k, err
	})
	timed := job.Via(events, "time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 100*time.Millisecond))
	byKey := job.KeyBy(timed, "by-key", func(k keyed) string { return k.Key })
	counts := job.Via(byKey, "count", operators.WindowCount[keyed](operators.Tumbling(300*time.Millisecond), operators.WindowOptions[keyed]{}))
	job.To(counts, "out", out("out"), func(c operators.KeyWindowCount, r *stream.Record) error {
		r.Value = fmt.Appendf(r.Value, "%d:%d", c.Start, c.Count)
		return nil
	})
	return g, at, release
}

// The source is busy when a checkpoint is triggered and the job is drained, so the barrier and the end wait side by side; then
// the process dies before the last checkpoint. The one before is of before the drain.
func TestABarrierThatWaitsComesBeforeTheEndOfADrain(t *testing.T) {
	for range 12 {
		c := newCluster(t, "in", "out")
		c.feed("in", 0, 950, 10)
		o := c.options(20 * time.Second)
		g, at, release := busy()
		var j *running
		var saved, fail atomic.Bool
		o.Listener = &checkpoint.Listener{OnTrigger: func(e checkpoint.TriggerEvent) {
			if e.Savepoint != "" {
				saved.Store(true)
			}
			if e.Last && fail.Load() {
				go j.crash(errCrash)
			}
		}}
		j = start(t, g, o)
		eventually(t, "all to be read", func() bool { return j.reads() == 950 })
		c.feed("in", 950, 1, 10)
		<-at
		fail.Store(true)
		go func() { _ = j.Savepoint(context.Background(), filepath.Join(t.TempDir(), "x")) }()
		eventually(t, "the savepoint's barrier", saved.Load)
		if _, err := j.RequestStop(runtime.StopRequest{Drain: true}); err != nil {
			t.Fatal(err)
		}
		close(release)
		<-j.done
		for _, p := range c.pointers(o) {
			if firedEarly(p) {
				t.Fatalf("checkpoint %d has windows that the drain fired, and is not marked as drained", p.Checkpoint)
			}
		}
	}
}

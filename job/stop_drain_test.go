package job_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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

// drains is a job of windows and of timers over an input without an end.
func drains(parallelism int) *job.Graph {
	g := job.New("sums")
	events := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), decodeKeyed)
	timed := job.Via(events, "time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 100*time.Millisecond))
	byKey := job.KeyBy(timed, "by-key", func(k keyed) string { return k.Key })
	counts := job.Via(byKey, "count", operators.WindowCount[keyed](operators.Tumbling(300*time.Millisecond), operators.WindowOptions[keyed]{}), job.Parallelism(parallelism))
	job.To(counts, "out", out("out"), func(c operators.KeyWindowCount, r *stream.Record) error {
		r.Value = fmt.Appendf(r.Value, "%d:%d", c.Start, c.Count)
		return nil
	})
	return g
}

// A drained job ends as if its input had ended: every window has fired, once, and is in the last checkpoint. Nothing goes on
// from there by mistake.
func TestDrainFiresEveryWindowAndIsNotContinued(t *testing.T) {
	for _, p := range []int{1, 3} {
		for _, with := range []string{"", "savepoint"} {
			t.Run(fmt.Sprint("parallelism=", p, " ", with), func(t *testing.T) {
				c := newCluster(t, "in", "out")
				c.feed("in", 0, 1000, 10) // record i is at millisecond i
				want := map[string][]string{}
				for k := range 10 {
					want[fmt.Sprint("k", k)] = []string{"0:30", "300:30", "600:30", "900:10"}
				}
				o := c.options(10 * time.Millisecond)
				o.Parallelism = p
				j := start(t, drains(p), o)
				eventually(t, "all to be read", func() bool { return j.reads() == 1000 })
				q := runtime.StopRequest{Drain: true}
				if with != "" {
					q.Savepoint = filepath.Join(t.TempDir(), with)
				}
				st := j.ask(q)
				if st.Phase != runtime.StopDone || st.Error != "" || st.Savepoint != q.Savepoint {
					t.Fatalf("%+v", st)
				}
				if err := j.wait(); err != nil {
					t.Fatal(err)
				}
				if err := diff(c.read("out"), want); err != nil {
					t.Error(err)
				}
				all := c.pointers(o)
				last := all[len(all)-1]
				if !last.Drained || !last.Final || last.Checkpoint != st.Checkpoint {
					t.Errorf("the last pointer: %+v", last)
				}

				var refused *checkpoint.RefusedError
				c.feed("in", 1000, 500, 10)
				if err := start(t, drains(1), o).wait(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "the job was drained there") {
					t.Errorf("a start that goes on: %v", err)
				}
				if with != "" {
					verify(t, q.Savepoint)
					o.Start = job.Start{From: q.Savepoint}
					if err := start(t, drains(1), o).wait(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "the job was drained there") {
						t.Errorf("a start from the savepoint: %v", err)
					}
				}
				if err := diff(c.read("out"), want); err != nil {
					t.Error(err)
				}
				o.Start = job.Start{Fresh: true}
				j = start(t, drains(p), o)
				eventually(t, "all to be read again", func() bool { return j.reads() == 1500 })
				j.stop()
			})
		}
	}
}

// A savepoint that cannot be written when everything has fired: the job has ended, and the outcome says what is missing. The next
// start finishes the savepoint.
func TestADrainedJobWhoseSavepointFailsHasEnded(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	o.Checkpoint.InlineThreshold = 1
	dir := filepath.Join(t.TempDir(), "savepoint")
	f := &diskFault{n: 1 << 40, err: errors.New("gone"), below: dir}
	o.Fault = f.from(t, fault.SavepointBegun)
	o.Checkpoint.Timeout = 3 * time.Second
	c.feed("in", 0, 1000, 10)
	j := start(t, drains(2), o)
	eventually(t, "all to be read", func() bool { return j.reads() == 1000 })
	st := j.ask(runtime.StopRequest{Savepoint: dir, Drain: true})
	if st.Phase != runtime.StopDone || st.Savepoint != "" || !strings.Contains(st.Error, "gone") {
		t.Errorf("%+v, want that the job has ended without its savepoint", st)
	}
	if err := j.wait(); err != nil {
		t.Fatal(err)
	}
	var refused *checkpoint.RefusedError
	err := start(t, drains(2), o).wait()
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "the job was drained there") || !strings.Contains(err.Error(), "--fresh") ||
		!strings.Contains(err.Error(), "savepoint "+dir+" of the last checkpoint is not whole, and cannot be finished: ") {
		t.Errorf("a start that cannot finish the savepoint: %v", err)
	}
	f.mended.Store(true)
	if err := start(t, drains(2), o).wait(); !errors.As(err, &refused) {
		t.Errorf("a start that goes on: %v", err)
	}
	if got := verify(t, dir).Pointer.Checkpoint; got != st.Checkpoint {
		t.Errorf("the savepoint is of checkpoint %d, want %d", got, st.Checkpoint)
	}
}

// Somebody asks to drain a job whose input ends just then: it ends once.
func TestDrainOfABoundedJob(t *testing.T) {
	for i := range 10 {
		c := newCluster(t, "in", "out")
		c.feed("in", 0, 500, 10)
		g := job.New("sums")
		events := job.From(g, "in", in("in"), decodeKeyed)
		job.To(events, "out", out("out"), func(k keyed, r *stream.Record) error {
			r.Value = fmt.Append(r.Value, k.N)
			return nil
		})
		o := c.options(5 * time.Millisecond)
		j := start(t, g, o)
		eventually(t, "the job to run", func() bool { return j.Ran() })
		if i%2 == 0 {
			eventually(t, "something to be read", func() bool { return j.reads() > 0 })
		}
		st, err := j.RequestStop(runtime.StopRequest{Drain: true})
		if err := j.wait(); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			if st = j.outcome(st); st.Phase != runtime.StopDone || st.Error != "" {
				t.Errorf("%+v", st)
			}
		}
		all := c.pointers(o)
		if last := all[len(all)-1]; !last.Final || !last.Drained && len(c.records("out")) != 500 {
			t.Errorf("drained: %t, and %d results", last.Drained, len(c.records("out")))
		}
	}
}

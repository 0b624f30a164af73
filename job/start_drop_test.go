package job_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// counted is the job sums with one operator more, which counts the records of a key.
func counted() *job.Graph {
	g := sums(1)
	events := job.From(g, "in2", in2("in2"), decodeKeyed)
	byKey := job.KeyBy(events, "by-key2", func(k keyed) string { return k.Key })
	n := job.Via(byKey, "seen", operators.Count[keyed]())
	job.To(n, "seen-out", out("seen"), func(n operators.KeyCount, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, n.Count, 10)
		return nil
	})
	return g
}

// texts is the job sums whose sums are texts: its state does not fit.
func texts() *job.Graph {
	g := job.New("sums")
	events := job.From(g, "in", in2("in"), func(r *stream.Record) (keyedText, error) { return keyedText{string(r.Key), string(r.Value)}, nil })
	byKey := job.KeyBy(events, "by-key", func(k keyedText) string { return k.Key })
	sum := job.Via(byKey, "sum", operators.Reduce(func(a, b keyedText) keyedText {
		x, _ := strconv.Atoi(a.N)
		y, _ := strconv.Atoi(b.N)
		return keyedText{b.Key, strconv.Itoa(x + y)}
	}))
	job.To(sum, "out", out("out"), func(k keyedText, r *stream.Record) error {
		r.Value = append(r.Value, k.N...)
		return nil
	})
	return g
}

type keyedText struct{ Key, N string }

// path is a way to begin from what another version of the job has left.
type path struct {
	name  string
	start job.Start
}

// paths are all of them, once the job has a savepoint in dir and checkpoint id is its last.
func paths(dir string, id int64) []path {
	return []path{
		{"from the last checkpoint", job.Start{}},
		{"from a savepoint", job.Start{From: dir}},
		{"from a checkpoint by its ID", job.Start{From: fmt.Sprint(checkpoint.FromCheckpointPrefix, id)}},
	}
}

// runs waits until the job runs; if it ends instead, the test does.
func (r *running) runs() {
	r.t.Helper()
	eventually(r.t, "the job to run", func() bool {
		select {
		case err := <-r.done:
			r.t.Fatalf("the job ended: %v", err)
		default:
		}
		return r.Status().Phase == runtime.Running
	})
}

// refused runs a job that is not to start, and returns why.
func refused(t *testing.T, g *job.Graph, o job.Options) string {
	t.Helper()
	err := start(t, g, o).wait()
	var refused *checkpoint.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	return err.Error()
}

// left runs a job over n records of 10 keys, takes a savepoint of the end, stops it, and returns the ID of its last
// checkpoint.
func (c *cluster) left(g *job.Graph, o job.Options, n int, dir string) int64 {
	c.t.Helper()
	c.feed("in", 0, n, 10)
	j := start(c.t, g, o)
	eventually(c.t, "the results", func() bool { return diff(c.read("out"), wantSums(n, 10)) == nil })
	if err := j.Savepoint(c.t.Context(), dir); err != nil {
		c.t.Fatal(err)
	}
	j.stop()
	all := c.pointers(o)
	return all[len(all)-1].Checkpoint
}

// State without its operator, and offsets without their source, are dropped only by their names, which the refusal says; the
// rest of the state goes on. The flags may be repeated (C38, C43).
func TestStateWithoutItsOperatorIsRefusedUntilItIsNamed(t *testing.T) {
	for i := range 3 {
		t.Run(paths("", 1)[i].name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, "in", "in2", "out", "seen")
			o := c.options(5 * time.Millisecond)
			o.Checkpoint.Retained = 5
			c.feed("in2", 0, 30, 3)
			dir := filepath.Join(t.TempDir(), "savepoint")
			id := c.left(counted(), o, 100, dir)

			o.Start = paths(dir, id)[i].start
			said := refused(t, sums(1), o)
			for _, want := range []string{`--drop-state in2 drops its offsets`, `operator "seen" has state but the job has no such operator: was it renamed? (savepoint rewrite --rename seen=NEW makes a savepoint that keeps it; --drop-state seen drops `} {
				if !strings.Contains(said, want) {
					t.Errorf("%s\ndoes not say %s", said, want)
				}
			}
			o.Start.Drop = []string{"seen"}
			if said := refused(t, sums(1), o); strings.Contains(said, "seen") || !strings.Contains(said, "in2") {
				t.Error(said)
			}
			o.Start.Drop = []string{"seem", "in2"}
			if said := refused(t, sums(1), o); !strings.Contains(said, "--drop-state seem: nothing is called so: there is sum/") {
				t.Error(said)
			}

			o.Start.Drop = []string{"seen", "in2"}
			var lineage string
			for n := 100; n < 400; n += 100 { // a supervisor repeats the flags after each crash
				j := start(t, sums(1), o)
				j.runs()
				if lineage == "" {
					lineage = j.Status().Lineage
				}
				if got := j.Status().Lineage; got != lineage {
					t.Fatalf("lineage %s, want %s", got, lineage)
				}
				c.feed("in", n, 100, 10)
				eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(n+100, 10)) == nil })
				j.kill()
			}
			all := c.pointers(o)
			last := all[len(all)-1]
			if len(last.Dropped) == 0 || !slices.Equal(last.Drops, []string{"seen", "in2"}) || len(last.Sources) != 1 {
				t.Errorf("dropped %v, by %v, sources %v", last.Dropped, last.Drops, last.Sources)
			}
			// The operator comes back: it begins empty, with a number of its own.
			o.Start = job.Start{}
			j := start(t, counted(), o)
			c.feed("in2", 0, 3, 3)
			eventually(t, "the counts of the whole input again", func() bool { return len(c.records("seen")) == 30+33 })
			if err := diff(c.read("out"), wantSums(400, 10)); err != nil {
				t.Error(err)
			}
			j.stop()
		})
	}
}

// sumsAfter are the running sums of the records from n on, with empty state, behind what wantSums says of those before.
func sumsAfter(want map[string][]string, n, to, keys int) map[string][]string {
	sum := make([]int64, keys)
	for i := n; i < to; i++ {
		sum[i%keys] += int64(i)
		key := fmt.Sprintf("k%d", i%keys)
		want[key] = append(want[key], strconv.FormatInt(sum[i%keys], 10))
	}
	return want
}

// becomes waits until a topic has these results. What is committed stays: one that is another ends the test at once.
func (c *cluster) becomes(topic string, want map[string][]string) {
	c.t.Helper()
	eventually(c.t, "the results in "+topic, func() bool {
		got := c.read(topic)
		for key, values := range got {
			if w := want[key]; len(values) > len(w) || !slices.Equal(values, w[:len(values)]) {
				c.t.Fatal(diff(got, want))
			}
		}
		return diff(got, want) == nil
	})
}

// State that the job goes on using is dropped once for each time that it is asked for: not when a supervisor repeats the
// flags, nor after a crash at any step of that start, nor by a restart inside the process (C43).
func TestStateIsDroppedOnceWhateverIsRepeated(t *testing.T) {
	steps := append([]fault.Step{""}, fault.RecoverySteps()...)
	for _, step := range slices.Compact(steps) {
		t.Run("crash at "+string(step), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, "in", "out")
			o := c.options(5 * time.Millisecond)
			c.left(sums(1), o, 100, filepath.Join(t.TempDir(), "savepoint"))
			o.Start.Drop = []string{"sum"}
			if step != "" {
				at, dead := make(chan struct{}), make(chan struct{})
				var once sync.Once
				crashing := o
				crashing.Fault = func(s fault.Step) {
					if s == step {
						once.Do(func() { close(at) })
						<-dead
					}
				}
				j := start(t, sums(1), crashing)
				eventually(t, "the step, or a job that runs without it", func() bool {
					select {
					case <-at:
						return true
					case err := <-j.done:
						t.Fatal(err)
					default:
					}
					return j.Status().Phase == runtime.Running
				})
				j.crash(errCrash)
				close(dead)
				<-j.done
			}
			want := wantSums(100, 10)
			j := start(t, sums(1), o)
			j.runs()
			c.feed("in", 100, 50, 10)
			c.becomes("out", sumsAfter(wantSums(100, 10), 100, 150, 10))

			// A restart inside the process.
			var broken atomic.Bool
			c.fake.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
				broken.Store(true)
				return nil, errCrash, true
			})
			c.feed("in", 150, 50, 10)
			eventually(t, "a restart", func() bool { return broken.Load() && j.Metrics().Restarts.Load() > 0 })
			c.becomes("out", sumsAfter(wantSums(100, 10), 100, 200, 10))
			j.kill()

			j = start(t, sums(1), o)
			c.feed("in", 200, 50, 10)
			c.becomes("out", sumsAfter(wantSums(100, 10), 100, 250, 10)) // what is repeated drops nothing
			j.kill()
			want = sumsAfter(want, 100, 250, 10)

			o.Start.Again = true
			j = start(t, sums(1), o)
			j.runs()
			c.feed("in", 250, 50, 10)
			want = sumsAfter(want, 250, 300, 10)
			c.becomes("out", want)
			j.stop()
		})
	}
}

package job_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// within is a job that runs on a cluster.
func within(c *cluster, g *job.Graph, o job.Options) runningOn { return runningOn{start(c.t, g, o), c} }

type runningOn struct {
	*running
	c *cluster
}

// results waits until there are n results or more.
func (r runningOn) results(topic string, n int) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d results", n), func() bool {
		select {
		case err := <-r.done:
			r.t.Fatalf("the job ended: %v", err)
		default:
		}
		return len(r.c.records(topic)) >= n
	})
}

// A key's last change may be in the base, in a delta of any checkpoint since, in a file or in a pointer, and of any
// subtask. Each process begins with an empty disk of its own, so it has nothing but what the last pointer lists.
func TestEveryChangeIsRestoredWhereverItIsKept(t *testing.T) {
	for _, tc := range []struct {
		name              string
		inline, baseAfter checkpoint.Bytes
		bases             int64
	}{
		{"deltas in pointers", 64 << 10, 1 << 20, 0},
		{"deltas in files", 1, 1 << 20, 0},
		{"bases", 1, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const keys = 12
			c := newCluster(t, "in", "out")
			o := c.options(5 * time.Millisecond)
			o.Checkpoint.InlineThreshold, o.Checkpoint.BaseAfter = tc.inline, tc.baseAfter
			var bases atomic.Int64
			o.Listener = &checkpoint.Listener{OnPersist: func(e checkpoint.PersistEvent) {
				if e.Base {
					bases.Add(1)
				}
			}}
			n := 0
			for range 3 {
				o.Checkpoint.LocalDir = t.TempDir()
				before := bases.Load()
				j := within(c, sums(2), o)
				for i := 0; i < keys || bases.Load() < before+tc.bases; i++ { // one key a checkpoint
					c.feed("in", n, 1, keys)
					n++
					j.results("out", n)
				}
				j.kill()
			}
			o.Checkpoint.LocalDir = t.TempDir()
			c.feed("in", n, 2*keys, keys)
			j := within(c, sums(3), o)
			j.results("out", n+2*keys)
			j.stop()
			if err := diff(c.read("out"), wantSums(n+2*keys, keys)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A barrier does not wait for the end of a batch: what is behind it is read again.
func TestABarrierBetweenTwoRecordsOfABatchLosesNone(t *testing.T) {
	const records = 40
	c := newCluster(t, "in", "out")
	for i := range records {
		c.produce("in", 0, "k0", strconv.Itoa(i))
	}
	halfway, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	graph := func() *job.Graph {
		g := job.New("sums")
		from := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), func(r *stream.Record) (keyed, error) {
			if string(r.Value) == strconv.Itoa(records/2) {
				once.Do(func() {
					close(halfway)
					<-goOn
				})
			}
			return decodeKeyed(r)
		})
		job.To(from, "out", sink.Kafka(sink.KafkaOptions{Topic: "out"}), func(k keyed, r *stream.Record) error {
			r.Value = strconv.AppendInt(r.Value, k.N, 10)
			return nil
		})
		return g
	}
	o := c.options(5 * time.Minute) // but for the savepoint
	o.Checkpoint.TransactionTimeout = 10 * time.Minute
	var barriers sync.Once
	o.Fault = func(s fault.Step) {
		if s == fault.BarriersSent {
			barriers.Do(func() { close(goOn) })
		}
	}
	j := start(t, graph(), o)
	select {
	case <-halfway:
	case err := <-j.done:
		t.Fatal(err)
	}
	if err := j.Savepoint(t.Context(), filepath.Join(t.TempDir(), "savepoint")); err != nil {
		t.Fatal(err)
	}
	j.kill()
	all := c.pointers(o)
	if at := all[len(all)-1].Sources[0].Splits[0].Offset; at == 0 || at == records {
		t.Fatalf("the barrier was not between two records: offset %d", at)
	}
	o = c.options(5 * time.Millisecond)
	c.produce("in", 0, "k0", strconv.Itoa(records))
	again := start(t, graph(), o)
	eventually(t, "the result of the last record", func() bool { return slices.Contains(c.read("out")["k0"], strconv.Itoa(records)) })
	again.stop()
	var want []string
	for i := range records + 1 {
		want = append(want, strconv.Itoa(i))
	}
	if err := diff(c.read("out"), map[string][]string{"k0": want}); err != nil {
		t.Error(err)
	}
}

// What was late before a restart is late after it, also if a partition that was idle then holds time back now.
func TestWhatWasLateStaysLateAfterARestart(t *testing.T) {
	c := newCluster(t, "in", "out")
	graph := func(idle time.Duration) *job.Graph {
		g := job.New("late")
		from := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}, IdleTimeout: idle}), decodeKeyed)
		timed := job.Via(from, "time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 0))
		byKey := job.KeyBy(timed, "by-key", func(k keyed) string { return k.Key })
		counts := job.Via(byKey, "count", operators.WindowCount[keyed](operators.Tumbling(time.Second), operators.WindowOptions[keyed]{}))
		job.To(counts, "out", out("out"), func(c operators.KeyWindowCount, r *stream.Record) error {
			r.Value = fmt.Appendf(r.Value, "%d:%d", c.Start/1000, c.Count)
			return nil
		})
		return g
	}
	o := c.options(5 * time.Millisecond)
	c.produce("in", 0, "k", "100")
	c.produce("in", 0, "k", "5000")
	j := start(t, graph(20*time.Millisecond), o)
	eventually(t, "the first window", func() bool { return diff(c.read("out"), map[string][]string{"k": {"0:1"}}) == nil })
	j.kill()
	j = start(t, graph(-1), o)
	c.produce("in", 0, "k", "200")
	late := func() (n int64) {
		j.Metrics().Each(func(_ string, _ int, m *runtime.StepMetrics) { n += m.Late.Load() })
		return n
	}
	read := func() (n int64) {
		j.Metrics().Each(func(step string, _ int, m *runtime.StepMetrics) {
			if step == "in" {
				n += m.RecordsIn.Load()
			}
		})
		return n
	}
	last := j.Status().Checkpoint
	eventually(t, "the record to be read", func() bool { return read() > 0 })
	j.past(last + 1)
	if late() != 1 {
		t.Errorf("%d late records, want 1", late())
	}
	j.stop()
}

// A dead letter is seen with the checkpoint of its record: once, whatever ends an attempt in between.
func TestADeadLetterIsOfItsCheckpoint(t *testing.T) {
	c := newCluster(t, "in", "out", "dead")
	o := c.options(5 * time.Millisecond)
	for _, v := range []string{"1", "x", "2"} {
		c.produce("in", 0, "k", v)
	}
	reached, crashed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o.Fault = func(s fault.Step) {
		if s == fault.Flushed { // everything is at the brokers, nothing is committed
			once.Do(func() { close(reached) })
			<-crashed
		}
	}
	j := start(t, numbers("dead_letter", "dead"), o)
	select {
	case <-reached:
	case err := <-j.done:
		t.Fatal(err)
	}
	j.crash(errCrash)
	close(crashed)
	<-j.done
	if got := len(c.records("dead")); got != 0 {
		t.Errorf("%d dead letters of a checkpoint that is not committed", got)
	}
	o.Fault = nil
	finish(t, numbers("dead_letter", "dead"), o)
	if got := c.records("dead"); len(got) != 1 || string(got[0].Value) != "x" {
		t.Errorf("%d dead letters, want one", len(got))
	}
	if err := diff(c.read("out"), map[string][]string{"k": {"1", "2"}}); err != nil {
		t.Error(err)
	}
}

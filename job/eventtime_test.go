package job_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// windowsOf counts the records of two sources per key and second.
func windowsOf(a, b source.KafkaOptions) *job.Graph {
	g := job.New("windows")
	read := func(name string, o source.KafkaOptions) *job.Stream[keyed] {
		events := job.From(g, name, source.Kafka(o), decodeKeyed)
		return job.Via(events, name+"-time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 0))
	}
	both := job.Union("both", read("a", a), read("b", b))
	byKey := job.KeyBy(both, "by-key", func(k keyed) string { return k.Key })
	counts := job.Via(byKey, "count", operators.WindowCount[keyed](operators.Tumbling(time.Second), operators.WindowOptions[keyed]{}))
	job.To(counts, "out", out("out"), func(c operators.KeyWindowCount, r *stream.Record) error {
		r.Value = fmt.Appendf(r.Value, "%d:%d", c.Start/1000, c.Count)
		return nil
	})
	return g
}

// A window that fires because a source became idle is seen although nothing else ever happens.
func TestWindowOfAnIdleSourceIsCommitted(t *testing.T) {
	for _, p := range []int{1, 2} {
		t.Run(fmt.Sprint("parallelism=", p), func(t *testing.T) {
			c := newCluster(t, "a", "b", "out")
			for _, n := range []int{100, 1100, 5000} {
				c.produce("a", 0, "k", strconv.Itoa(n))
			}
			c.produce("b", 1, "k", "200")
			o := c.options(10 * time.Millisecond)
			o.Parallelism = p
			// Only b becomes idle.
			j := start(t, windowsOf(
				source.KafkaOptions{Topics: []string{"a"}, IdleTimeout: -1},
				source.KafkaOptions{Topics: []string{"b"}, IdleTimeout: 100 * time.Millisecond},
			), o)
			// Partitions without a record hold time back, as their source is never idle.
			for i := range int32(3) {
				c.produce("a", i+1, "x", "5000")
			}
			eventually(t, "the windows before 5 s", func() bool {
				return diff(map[string][]string{"k": c.read("out")["k"]}, map[string][]string{"k": {"0:2", "1:1"}}) == nil
			})
			j.stop()
		})
	}
}

// A source that has ended does not hold time back after a restart: the other one's end still fires every window.
func TestEndOfOneSourceSurvivesARestart(t *testing.T) {
	c := newCluster(t, "a", "b", "out")
	c.produce("a", 0, "k", "100")
	c.produce("b", 0, "k", "200")
	a := source.KafkaOptions{Topics: []string{"a"}, StopAt: "latest"}
	b := source.KafkaOptions{
		Topics: []string{"b"}, StopAt: "offsets", IdleTimeout: -1,
		StopOffsets: map[string]map[int32]int64{"b": {0: 3, 1: 0, 2: 0, 3: 0}},
	}
	o := c.options(10 * time.Millisecond)
	o.Parallelism = 2
	j := start(t, windowsOf(a, b), o)
	eventually(t, "the end of a", func() bool {
		ended := 0
		j.Metrics().Each(func(step string, _ int, m *runtime.StepMetrics) {
			if step == "a-time" && m.Watermark.Load() == stream.MaxTime {
				ended++
			}
		})
		return ended == 2
	})
	last := j.Status().Checkpoint
	c.produce("b", 0, "k", "250")
	j.past(last + 1)
	j.kill()
	c.produce("b", 0, "k", "1300")
	finish(t, windowsOf(a, b), o)
	if err := diff(c.read("out"), map[string][]string{"k": {"0:3", "1:1"}}); err != nil {
		t.Fatal(err)
	}
}

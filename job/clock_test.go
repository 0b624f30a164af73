package job_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// clock is the system's, set forward or back by a test.
type clock struct{ set atomic.Int64 }

func (c *clock) now() int64           { return time.Now().UnixMilli() + c.set.Load() }
func (c *clock) step(d time.Duration) { c.set.Add(d.Milliseconds()) }

// alarm sets for each event a processing-time timer, its number of milliseconds ahead, and tells of those that fire.
type alarm struct{}

func (alarm) Open(*operators.Context) error { return nil }

func (alarm) Process(c *operators.ProcessContext, ev *stream.Event[keyed], _ func(keyed) error) error {
	return c.SetClockTimer(c.Now() + ev.Value.N)
}

func (alarm) OnTimer(c *operators.ProcessContext, t operators.Timer, emit func(keyed) error) error {
	if c.Now() < t.Time {
		return fmt.Errorf("a timer for %d fires at %d", t.Time, c.Now())
	}
	return emit(keyed{c.Key(), 1})
}

// clocked has windows over event time, with a source that may become idle, and timers over processing time.
func clocked(idle time.Duration) *job.Graph {
	g := job.New("clocked")
	views := job.From(g, "views", source.Kafka(source.KafkaOptions{Topics: []string{"views"}, IdleTimeout: idle, FetchMaxWait: 10 * time.Millisecond}), decodeKeyed)
	timed := job.Via(views, "time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 0))
	byKey := job.KeyBy(timed, "by-key", func(k keyed) string { return k.Key })
	counts := job.Via(byKey, "count", operators.WindowCount[keyed](operators.Tumbling(time.Second), operators.WindowOptions[keyed]{}))
	job.To(counts, "windows", out("windows"), func(c operators.KeyWindowCount, r *stream.Record) error {
		r.Value = fmt.Appendf(r.Value, "%d:%d", c.Start/1000, c.Count)
		return nil
	})
	alarms := job.From(g, "alarms", source.Kafka(source.KafkaOptions{Topics: []string{"alarms"}, FetchMaxWait: 10 * time.Millisecond}), decodeKeyed)
	ring := job.Via(job.KeyBy(alarms, "by-name", func(k keyed) string { return k.Key }), "alarm",
		operators.Process(func() operators.Processor[keyed, keyed] { return alarm{} }))
	job.To(ring, "rings", out("rings"), func(k keyed, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, k.N, 10)
		return nil
	})
	return g
}

// A clock that is set by an hour, either way, changes no window, expires no checkpoint, makes nobody idle, and fires the
// processing-time timers that it has reached.
func TestAClockSetByAnHourChangesNoResult(t *testing.T) {
	c := newCluster(t, "views", "windows", "alarms", "rings")
	o := c.options(10 * time.Millisecond)
	var clk clock
	o.Now = clk.now
	o.Checkpoint.Timeout, o.Checkpoint.TransactionTimeout = 10*time.Second, 30*time.Second
	o.Checkpoint.Interval = 10 * time.Millisecond
	var failures atomic.Int64
	o.Listener = &checkpoint.Listener{OnFailed: func(checkpoint.FailedEvent) { failures.Add(1) }}
	j := start(t, clocked(time.Minute), o)

	n := 0 // windows: records so far
	view := func(partition int32, at int) {
		c.produce("views", partition, fmt.Sprint("p", partition), strconv.Itoa(at))
		n++
	}
	// goOn shows that checkpoints complete, long enough for partitions to be taken for idle if the clock said so.
	goOn := func() {
		for range 5 {
			before := j.Status().Checkpoint
			view(0, 10_000+n)
			j.past(before + 1)
		}
	}
	rings := func(names ...string) func() bool {
		return func() bool {
			var got []string
			for name, times := range c.read("rings") {
				if len(times) != 1 {
					t.Fatalf("%s rang %d times", name, len(times))
				}
				got = append(got, name)
			}
			slices.Sort(got)
			slices.Sort(names)
			return slices.Equal(got, names)
		}
	}

	for p := range int32(4) {
		view(p, 100)
	}
	c.produce("alarms", 0, "soon", "50")
	c.produce("alarms", 1, "in half an hour", "1800000")
	c.produce("alarms", 2, "in two hours", "7200000")
	eventually(t, "the first alarm", rings("soon"))

	clk.step(time.Hour)
	eventually(t, "the alarm that the clock has reached", rings("soon", "in half an hour"))
	goOn()
	view(1, 200) // late, if partition 1 had been taken for idle

	c.produce("alarms", 0, "before the step back", "60000")
	goOn()
	clk.step(-2 * time.Hour)
	c.produce("alarms", 0, "after the step back", "50")
	eventually(t, "the alarm after the step back", rings("soon", "in half an hour", "after the step back"))
	goOn()
	view(2, 300)

	// What was written under one clock is restored under another.
	j.stop()
	clk.step(-time.Hour)
	j = start(t, clocked(time.Minute), o)
	j.past(1)
	goOn()
	view(3, 400)
	clk.step(4 * time.Hour) // two hours more than at the beginning
	eventually(t, "every alarm", rings("soon", "in half an hour", "after the step back", "before the step back", "in two hours"))
	goOn()

	for p := range int32(4) {
		view(p, 30_000)
	}
	want := map[string][]string{"p0": {"0:1", "10:25"}, "p1": {"0:2"}, "p2": {"0:2"}, "p3": {"0:2"}}
	eventually(t, "the windows", func() bool { return diff(c.read("windows"), want) == nil })
	if n := j.Metrics().Restarts.Load(); n != 0 || failures.Load() != 0 {
		t.Errorf("%d restarts, %d failed checkpoints", n, failures.Load())
	}
	if at := j.Status().CommittedAt - clk.now(); at < -60_000 || at > 0 {
		t.Errorf("the last checkpoint is dated %d ms off the job's clock", at)
	}
	j.stop()
}

// Idleness is measured, not read off the clock: it comes after its timeout although the clock was set back meanwhile.
func TestIdlenessDoesNotFollowTheClock(t *testing.T) {
	c := newCluster(t, "views", "windows", "alarms", "rings")
	o := c.options(10 * time.Millisecond)
	var clk clock
	o.Now = clk.now
	j := start(t, clocked(300*time.Millisecond), o)
	j.past(1)
	clk.step(-time.Hour)
	c.produce("views", 0, "k", "100")
	c.produce("views", 0, "k", "5000")
	eventually(t, "the window, with the other partitions idle", func() bool {
		return diff(c.read("windows"), map[string][]string{"k": {"0:1"}}) == nil
	})
	j.stop()
}

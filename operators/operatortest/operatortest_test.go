package operatortest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

func Example() {
	spec := operators.WindowCount(operators.Tumbling(time.Minute), operators.WindowOptions[string]{})
	h := operatortest.New(nil, spec) // in a test: its t
	h.Process("ann", "/home", 1_000)
	h.Process("ann", "/cart", 2_000)

	// A crash: what goes on is made of the snapshot alone.
	h = operatortest.Restore(nil, spec, h.Snapshot())
	h.Process("ann", "/home", 3_000)
	h.Watermark(stream.MaxTime)
	for _, ev := range h.Output() {
		fmt.Printf("%s at %d: %d\n", ev.Key, ev.Timestamp, ev.Value.Count)
	}
	// Output: ann at 59999: 3
}

// forgetful counts in a variable of its own, which is lost at a restart.
type forgetful struct {
	operators.NoTimers[int]
	n int
}

func (*forgetful) Open(*operators.Context) error { return nil }

func (f *forgetful) Process(_ *operators.ProcessContext, _ *stream.Event[string], emit func(int) error) error {
	f.n++
	return emit(f.n)
}

// notes is a test that may fail.
type notes struct{ failed string }

func (*notes) Helper() {}

func (n *notes) Fatalf(format string, args ...any) {
	n.failed = fmt.Sprintf(format, args...)
	panic(n)
}

func TestCheckRestoreFindsWhatIsNotInAState(t *testing.T) {
	event := func(h *operatortest.Harness[string, int]) { h.Process("k", "", 0) }
	n := new(notes)
	func() {
		defer func() { _ = recover() }()
		operatortest.CheckRestore(n, operators.Process(func() operators.Processor[string, int] { return new(forgetful) }),
			[]func(*operatortest.Harness[string, int]){event, event})
	}()
	if !strings.HasPrefix(n.failed, "restart before step 1: step 1 gives\n\tk@0 1\nand without a restart\n\tk@0 2") {
		t.Fatalf("said %q", n.failed)
	}
}

func TestEvictedStateIsReadBack(t *testing.T) {
	h := operatortest.New(t, operators.Count[string]())
	h.Process("a", "", 0)
	h.Snapshot()
	if h.Evict(); h.Entries() != 0 {
		t.Fatalf("%d entries in memory after an eviction", h.Entries())
	}
	h.Process("a", "", 0)
	h.Evict() // the change is in no snapshot and stays
	h.Process("a", "", 0)
	if got := h.Values(); len(got) != 3 || got[2].Count != 3 {
		t.Fatal(got)
	}
}

func TestASnapshotIsNotChangedByWhatFollows(t *testing.T) {
	h := operatortest.New(t, operators.Count[string]())
	h.Process("a", "", 0)
	snap := h.Snapshot()
	h.Process("a", "", 0)
	h.Process("b", "", 0)
	h.Snapshot()
	r := operatortest.Restore(t, operators.Count[string](), snap)
	r.Process("a", "", 0)
	if got := r.Values(); snap.Store.Len() != 1 || got[0].Count != 2 {
		t.Fatalf("%d entries, %v", snap.Store.Len(), got)
	}
}

func TestClockTimersDoNotFireAtTheEndOfTheInput(t *testing.T) {
	h := operatortest.New(t, operators.Process(func() operators.Processor[string, string] { return alarm{} }))
	h.Process("k", "clock", 100)
	h.Process("k", "event", 100)
	h.Watermark(stream.MaxTime)
	if got := fmt.Sprint(h.Values()); got != "[event time 100]" {
		t.Fatal(got)
	}
	h.Clock(100)
	if got := fmt.Sprint(h.Values()); got != "[clock 100]" {
		t.Fatal(got)
	}
}

// alarm sets the timer that the event asks for.
type alarm struct{}

func (alarm) Open(*operators.Context) error { return nil }

func (alarm) Process(c *operators.ProcessContext, ev *stream.Event[string], _ func(string) error) error {
	if ev.Value == "clock" {
		return c.SetClockTimer(ev.Timestamp)
	}
	return c.SetTimer(ev.Timestamp)
}

func (alarm) OnTimer(_ *operators.ProcessContext, t operators.Timer, emit func(string) error) error {
	if t.Clock {
		return emit(fmt.Sprint("clock ", t.Time))
	}
	return emit(fmt.Sprint("event time ", t.Time))
}

// Timers fire in order of time and then of key, not in that in which they were set; one in the past with the next
// watermark.
func TestTimersFireInOrder(t *testing.T) {
	h := operatortest.New(t, operators.Process(func() operators.Processor[string, string] { return alarm{} }))
	for _, k := range []string{"c", "a", "b"} {
		for _, ts := range []int64{30, 10, 20} {
			h.Process(k, "event", ts)
		}
	}
	h.Watermark(25)
	h.Process("d", "event", 5)
	h.Watermark(26)
	h.Watermark(stream.MaxTime)
	var got []string
	for _, ev := range h.Output() {
		got = append(got, fmt.Sprintf("%s%d", ev.Key, ev.Timestamp))
	}
	if s := strings.Join(got, " "); s != "a10 b10 c10 a20 b20 c20 d5 a30 b30 c30" {
		t.Fatal(s)
	}
}

// A timer may set the next one: that fires with the same watermark if its time has come, and a timer that sets itself to
// a time that has passed waits for the next watermark instead of going round for ever.
func TestATimerThatSetsATimer(t *testing.T) {
	h := operatortest.New(t, operators.Process(func() operators.Processor[int64, int64] { return ticker{} }))
	h.Process("k", 10, 10)
	h.Watermark(35)
	if got := fmt.Sprint(h.Values()); got != "[10 20 30]" {
		t.Fatal(got)
	}
	h.Watermark(100)
	if got := fmt.Sprint(h.Values()); got != "[40 50]" {
		t.Fatal(got)
	}
	h.Watermark(101)
	if got := fmt.Sprint(h.Values()); got != "[50]" {
		t.Fatal(got)
	}
	h.Watermark(stream.MaxTime)
	if got := fmt.Sprint(h.Values()); got != "[50]" || h.Entries() != 0 {
		t.Fatal(got)
	}
}

// ticker ticks every 10 ms up to 50, and then at 50 again and again.
type ticker struct{}

func (ticker) Open(*operators.Context) error { return nil }

func (ticker) Process(c *operators.ProcessContext, ev *stream.Event[int64], _ func(int64) error) error {
	return c.SetTimer(ev.Value)
}

func (ticker) OnTimer(c *operators.ProcessContext, t operators.Timer, emit func(int64) error) error {
	if err := c.SetTimer(min(t.Time+10, 50)); err != nil {
		return err
	}
	return emit(t.Time)
}

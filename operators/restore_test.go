package operators_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// script is a random run of events, watermarks and clock readings, and then the end of the input.
func script[Out any](seed uint64, steps int) (s []func(*operatortest.Harness[string, Out])) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	now := int64(1000)
	for i := range steps {
		switch rnd.IntN(6) {
		case 0:
			now += rnd.Int64N(15)
			watermark := now
			s = append(s, func(h *operatortest.Harness[string, Out]) { h.Watermark(watermark) })
		case 1:
			clock := int64(i * 10)
			s = append(s, func(h *operatortest.Harness[string, Out]) { h.Clock(clock) })
		default:
			ev := stream.Event[string]{Value: fmt.Sprint(i), Timestamp: now + rnd.Int64N(60) - 30, Key: []byte{byte('a' + rnd.IntN(4))}}
			ev.Headers = []stream.Header{{Key: "n", Value: []byte(ev.Value)}}
			s = append(s, func(h *operatortest.Harness[string, Out]) {
				ev := ev
				if err := h.Send(&ev); err != nil {
					panic(err)
				}
			})
		}
	}
	return append(s, func(h *operatortest.Harness[string, Out]) { h.Watermark(stream.MaxTime) })
}

func TestARestartChangesNothing(t *testing.T) {
	concat := func(a, b string) string { return a + b }
	late := operatortest.NewSide(lateTag)
	opts := operators.WindowOptions[string]{AllowedLateness: 10 * time.Millisecond, Late: lateTag}
	now := operators.WindowOptions[string]{Late: lateTag}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			texts := script[string](seed, 40)
			operatortest.CheckRestore(t, operators.Filter(func(s string) bool { return len(s) > 1 }), texts)
			operatortest.CheckRestore(t, operators.EventTimeMillis(func(s string) int64 { return int64(len(s)) }, 0), texts)
			operatortest.CheckRestore(t, operators.Reduce(concat), texts)
			operatortest.CheckRestore(t, operators.Aggregate(text), texts)
			operatortest.CheckRestore(t, operators.Count[string](), script[operators.KeyCount](seed, 40))
			operatortest.CheckRestore(t, operators.Process(func() operators.Processor[string, string] { return new(echo) }), texts)
			for _, w := range []operators.Assigner{
				operators.Tumbling(10 * time.Millisecond), operators.Hopping(10*time.Millisecond, 5*time.Millisecond), operators.Session(10 * time.Millisecond),
			} {
				operatortest.CheckRestore(t, operators.WindowAggregate(w, text, opts), texts, late)
				operatortest.CheckRestore(t, operators.WindowReduce(w, concat, now), texts, late)
				operatortest.CheckRestore(t, operators.WindowCount(w, opts), script[operators.KeyWindowCount](seed, 40), late)
			}
		})
	}
}

// echo repeats what it has been told: everything of the key when an event-time timer says so, and how much there is when a
// processing-time timer does.
type echo struct {
	list  *operators.List[string]
	count *operators.MapState[int64, int64]
}

func (e *echo) Open(ctx *operators.Context) (err error) {
	if e.list, err = operators.NewList[string](ctx, "list", nil); err != nil {
		return err
	}
	e.count, err = operators.NewMap[int64, int64](ctx, "count", nil, nil)
	return err
}

func (e *echo) Process(c *operators.ProcessContext, ev *stream.Event[string], emit func(string) error) error {
	if err := e.list.Add(ev.Value); err != nil {
		return err
	}
	decade := ev.Timestamp / 10
	n, _, err := e.count.Get(decade)
	if err != nil {
		return err
	}
	if err := e.count.Put(decade, n+1); err != nil {
		return err
	}
	if n == 2 {
		if err := c.DeleteTimer(ev.Timestamp/20*20 + 20); err != nil {
			return err
		}
		return emit("third of its decade")
	}
	if err := c.SetClockTimer(c.Now() + 70); err != nil {
		return err
	}
	return c.SetTimer(ev.Timestamp/20*20 + 20)
}

func (e *echo) OnTimer(c *operators.ProcessContext, timer operators.Timer, emit func(string) error) error {
	if timer.Clock {
		n, err := e.list.Len()
		if err != nil {
			return err
		}
		return emit(fmt.Sprint(n, " so far"))
	}
	said := ""
	if err := e.list.All(func(_ int, v string) error { said += " " + v; return nil }); err != nil {
		return err
	}
	if err := e.count.All(func(decade, n int64) error { said += fmt.Sprintf(" %dx%d", n, decade); return nil }); err != nil {
		return err
	}
	if err := e.count.Delete(timer.Time/10 - 2); err != nil {
		return err
	}
	return emit(said)
}

func TestARestartOfAJoinChangesNothing(t *testing.T) {
	type harness = operatortest.Harness2[string, string, string]
	rnd := rand.New(rand.NewPCG(7, 7))
	var steps []func(*harness)
	for i := range 40 {
		key, value, ts := string(rune('a'+rnd.IntN(2))), fmt.Sprint(i), int64(i)*1000+rnd.Int64N(8000)
		switch rnd.IntN(5) {
		case 0:
			steps = append(steps, func(h *harness) { h.Watermark(int64(i) * 1000) })
		case 1, 2:
			steps = append(steps, func(h *harness) { h.ProcessA(key, value, ts) })
		default:
			steps = append(steps, func(h *harness) { h.ProcessB(key, value, ts) })
		}
	}
	operatortest.CheckRestore2(t, operators.Connect(func() operators.Processor2[string, string, string] { return new(missed) }), steps)
	operatortest.CheckRestore2(t, operators.Connect(func() operators.Processor2[string, string, string] { return new(enrich) }), steps)
	pair := func(p operators.Pair[string, string]) (string, error) { return p.A + "+" + p.B, nil }
	for _, between := range []operators.Interval{
		operators.Between(0, 10*time.Second), operators.Between(-3*time.Second, 2*time.Second), operators.Between(2*time.Second, 4*time.Second), operators.Between(0, 0),
	} {
		operatortest.CheckRestore2(t, operators.IntervalJoin(between, pair, operators.JoinOptions[string, string]{}), steps)
	}
}

// C32 of the cases: timers and windows are state, so a crash one tick before they are due does not lose them, and one tick
// after does not repeat them.
func TestACrashOneTickBeforeFiringLosesNothing(t *testing.T) {
	spec := operators.WindowCount(operators.Tumbling(10*time.Millisecond), operators.WindowOptions[string]{})
	h := operatortest.New(t, spec)
	h.Process("a", "", 3)
	h.Watermark(8)
	h = operatortest.Restore(t, spec, h.Snapshot())
	h.Watermark(9)
	if got := h.Values(); len(got) != 1 || got[0] != (operators.KeyWindowCount{Key: "a", Start: 0, End: 10, Count: 1}) {
		t.Fatalf("one tick before: %v", got)
	}
	h = operatortest.Restore(t, spec, h.Snapshot())
	h.Watermark(stream.MaxTime)
	if got := h.Values(); len(got) != 0 {
		t.Fatalf("after firing: %v", got)
	}

	clock := operators.Process(func() operators.Processor[string, string] { return new(reminder) })
	p := operatortest.New(t, clock)
	p.Process("a", "tea", 0)
	p.Clock(499)
	p = operatortest.Restore(t, clock, p.Snapshot())
	p.Clock(500)
	if got := p.Values(); len(got) != 1 {
		t.Fatalf("processing time: %v", got)
	}
}

func TestStateOfOtherWindowsIsRefused(t *testing.T) {
	count := func(w operators.Assigner) operators.Spec[string, operators.KeyWindowCount] {
		return operators.WindowCount(w, operators.WindowOptions[string]{})
	}
	h := operatortest.New(t, count(operators.Tumbling(time.Minute)))
	h.Process("a", "", 0)
	snap := h.Snapshot()
	for _, w := range []operators.Assigner{
		operators.Tumbling(time.Hour), operators.Hopping(time.Minute, time.Second), operators.Tumbling(time.Minute).WithOffset(time.Second),
	} {
		err := func() (err any) {
			defer func() { err = recover() }()
			operatortest.Restore(nil, count(w), snap)
			return nil
		}()
		if err == nil {
			t.Errorf("%+v took the state of tumbling(1m0s)", w)
		}
	}
	operatortest.Restore(t, count(operators.Tumbling(time.Minute).WithOffset(time.Minute)), snap)
}

// The watermark of a checkpoint is the least of an operator's subtasks', so a subtask may go on from one below its own.
func TestWhatHasFiredDoesNotFireAgainBecauseTheWatermarkIsLower(t *testing.T) {
	for name, w := range map[string]operators.Assigner{"tumbling": operators.Tumbling(10 * time.Millisecond), "session": operators.Session(5 * time.Millisecond)} {
		spec := operators.WindowCount(w, operators.WindowOptions[string]{AllowedLateness: 100 * time.Millisecond})
		h := operatortest.New(t, spec)
		h.Process("a", "", 4)
		h.Watermark(20)
		if got := h.Values(); len(got) != 1 {
			t.Fatalf("%s: %v", name, got)
		}
		snap := h.Snapshot()
		snap.Watermark = 3
		h = operatortest.Restore(t, spec, snap)
		h.Watermark(30)
		if got := h.Values(); len(got) != 0 {
			t.Fatalf("%s: fired again: %v", name, got)
		}
		h = operatortest.Restore(t, spec, snap)
		h.Process("a", "", 3)
		if got := h.Values(); len(got) != 1 || got[0].Count != 2 {
			t.Fatalf("%s: a late event: %v", name, got)
		}
		if h.Watermark(stream.MaxTime); h.Entries() != 0 || len(h.Values()) != 0 {
			t.Fatalf("%s: at the end: %d entries", name, h.Entries())
		}
	}
}

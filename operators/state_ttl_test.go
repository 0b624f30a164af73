package operators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// hoard does with a value, a list and a map what its events say, and emits what it has then.
type hoard struct {
	operators.NoTimers[string]
	ttl   operators.TTL
	value *operators.Value[string]
	list  *operators.List[string]
	m     *operators.MapState[string, string]
}

func (h *hoard) Open(ctx *operators.Context) (err error) {
	if h.value, err = operators.NewValue[string](ctx, "value", nil, h.ttl); err != nil {
		return err
	}
	if h.list, err = operators.NewList[string](ctx, "list", nil, h.ttl); err != nil {
		return err
	}
	h.m, err = operators.NewMap[string, string](ctx, "map", nil, nil, h.ttl)
	return err
}

func (h *hoard) Process(_ *operators.ProcessContext, ev *stream.Event[string], emit func(string) error) error {
	do, v, _ := strings.Cut(ev.Value, " ")
	var err error
	switch do {
	case "put":
		if err = h.value.Put(v); err == nil {
			if err = h.list.Add(v); err == nil {
				err = h.m.Put(v, v)
			}
		}
	case "delete":
		if err = h.value.Delete(); err == nil {
			if err = h.list.Clear(); err == nil {
				err = h.m.All(func(k, _ string) error { return h.m.Delete(k) })
			}
		}
	case "get":
		value, ok, err := h.value.Get()
		if err != nil {
			return err
		}
		out := fmt.Sprintf("%s %t", value, ok)
		if err := h.list.All(func(_ int, v string) error { out += " " + v; return nil }); err != nil {
			return err
		}
		n, err := h.m.Len()
		if err != nil {
			return err
		}
		return emit(fmt.Sprintf("%s %d", out, n))
	}
	return err
}

// plainHoard is what a loop with a map and times would do.
type plainHoard map[string]*plainEntry

type plainEntry struct {
	all   []string
	until int64
}

func (p plainHoard) do(ttl operators.TTL, key, text string, now, at int64) (out string, emits bool) {
	e := p[key]
	if e != nil && e.until <= now {
		delete(p, key)
		e = nil
	}
	do, v, _ := strings.Cut(text, " ")
	switch do {
	case "put":
		if e == nil {
			e = new(plainEntry)
			p[key] = e
		}
		e.all, e.until = append(e.all, v), max(e.until, at+ttl.After.Milliseconds())
	case "delete":
		delete(p, key)
	case "get":
		if e == nil {
			return " false 0", true
		}
		if ttl.Refresh == operators.TTLOnReadAndWrite {
			e.until = max(e.until, at+ttl.After.Milliseconds())
		}
		keys := slices.Clone(e.all)
		slices.Sort(keys)
		return fmt.Sprintf("%s true %s %d", e.all[len(e.all)-1], strings.Join(e.all, " "), len(slices.Compact(keys))), true
	}
	return "", false
}

// TestExpiryDoesAsThePlainModel runs random events, watermarks, clocks, evictions and restarts; what is seen is what a map
// with times has.
func TestExpiryDoesAsThePlainModel(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 5))
		ttl := operators.TTL{
			After: time.Duration(1+rng.IntN(400)) * time.Millisecond, Time: operators.TTLTime(rng.IntN(2)), Refresh: operators.TTLRefresh(rng.IntN(2)),
		}
		spec := operators.Process(func() operators.Processor[string, string] { return &hoard{ttl: ttl} })
		h := operatortest.New(t, spec)
		model, ts, wm, clock := plainHoard{}, int64(1000), stream.MinTime, int64(5000)
		h.Clock(clock)
		for step := range 250 {
			ts += int64(rng.IntN(40))
			clock += int64(rng.IntN(40))
			h.Clock(clock)
			key := fmt.Sprint("k", rng.IntN(6))
			text := []string{"put " + fmt.Sprint("v", step%9), "get", "get", "delete"}[min(3, rng.IntN(9)/2)]
			at := ts - int64(rng.IntN(60)) // out of order, sometimes late
			now := max(at, wm)
			date := at
			if ttl.Time == operators.TTLProcessingTime {
				now, date = clock, clock
			}
			h.Process(key, text, at)
			want, emits := model.do(ttl, key, text, now, date)
			got := h.Values()
			if emits && (len(got) != 1 || strings.TrimSpace(got[0]) != strings.TrimSpace(want)) || !emits && len(got) != 0 {
				t.Fatalf("seed %d, step %d, %+v: %s %s at %d (watermark %d, clock %d): got %q, want %q", seed, step, ttl, key, text, at, wm, clock, got, want)
			}
			switch rng.IntN(12) {
			case 0, 1:
				wm = max(wm, ts-50)
				h.Watermark(wm)
			case 2:
				h.Evict()
			case 3:
				h = operatortest.Restore(t, spec, h.Snapshot())
				h.Clock(clock)
				h.Watermark(wm)
			}
		}
	}
}

// What expires is deleted while other keys are used, a bounded number at a time, and leaves nothing behind.
func TestWhatHasExpiredIsCleanedWithoutAScan(t *testing.T) {
	ttl := operators.TTL{After: time.Second}
	spec := operators.Process(func() operators.Processor[string, string] { return &hoard{ttl: ttl} })
	h := operatortest.New(t, spec)
	const keys = 120
	for i := range keys {
		h.Process(fmt.Sprint("k", i), "put v", int64(i))
	}
	full := h.Entries()
	h = operatortest.Restore(t, spec, h.Snapshot())
	h.Watermark(10 * keys)
	before := h.Entries()
	for i := range keys {
		h.Process("other", "put v", int64(10*keys+i))
		// The value, list and map of two keys, each with its time and timer; "other" itself may add some.
		if removed := before - h.Entries(); removed > 2*3*3*2 {
			t.Fatalf("one event removed %d entries", removed)
		}
		before = h.Entries()
	}
	h = operatortest.Restore(t, spec, h.Snapshot())
	if left := h.Entries(); full < 9*keys || left > 3*3+keys {
		t.Errorf("%d entries of %d are left", left, full)
	}
	h.Process("k7", "get", 11*keys)
	if got := h.Values(); got[0] != " false 0" {
		t.Errorf("got %q", got)
	}
}

func TestATTLIsChecked(t *testing.T) {
	for want, spec := range map[string]operators.Spec[string, operators.KeyCount]{
		"count: ttl: 0s is not a whole number of milliseconds, 1 or more":    operators.WithTTL(operators.Count[string](), operators.TTL{}),
		"count: ttl: 1.5ms is not a whole number of milliseconds, 1 or more": operators.WithTTL(operators.Count[string](), operators.TTL{After: 1500 * time.Microsecond}),
	} {
		if spec.Err == nil || spec.Err.Error() != want {
			t.Errorf("got %v, want %s", spec.Err, want)
		}
	}
	windowed := operators.WithTTL(operators.WindowCount[string](operators.Tumbling(time.Minute), operators.WindowOptions[string]{}), operators.TTL{After: time.Hour})
	if want := "window_count: its state has no TTL: only those of count, reduce and aggregate have"; windowed.Err == nil || windowed.Err.Error() != want {
		t.Errorf("got %v", windowed.Err)
	}
}

// A count, sum or accumulator without events for an hour begins anew.
func ExampleWithTTL() {
	h := operatortest.New(nil, operators.WithTTL(operators.Count[string](), operators.TTL{After: time.Hour}))
	minute := time.Minute.Milliseconds()
	h.Process("ann", "/home", 0)
	h.Process("ann", "/cart", 59*minute)
	h.Process("ann", "/home", 118*minute)
	h.Process("ann", "/home", 178*minute)
	fmt.Println(h.Values())
	// Output: [{ann 1} {ann 2} {ann 3} {ann 1}]
}

// clocked puts what an event says when a processing-time timer fires.
type clocked struct{ value *operators.Value[string] }

func (o *clocked) Open(ctx *operators.Context) (err error) {
	o.value, err = operators.NewValue[string](ctx, "value", nil, operators.TTL{After: time.Hour})
	return err
}

func (o *clocked) Process(c *operators.ProcessContext, ev *stream.Event[string], emit func(string) error) error {
	if ev.Value == "set" {
		return c.SetClockTimer(c.Now() + 1)
	}
	v, _, err := o.value.Get()
	if err != nil {
		return err
	}
	return emit(v)
}

func (o *clocked) OnTimer(*operators.ProcessContext, operators.Timer, func(string) error) error {
	return o.value.Put("kept")
}

func TestAnEntryOfATimerBeforeThereIsEventTimeLives(t *testing.T) {
	h := operatortest.New(t, operators.Process(func() operators.Processor[string, string] { return &clocked{} }))
	h.Clock(1)
	hour := time.Hour.Milliseconds()
	h.Process("k", "set", 5*hour)
	h.Clock(10)
	h.Process("k", "get", 5*hour)
	if got := h.Values(); len(got) != 1 || got[0] != "kept" {
		t.Errorf("got %q", got)
	}
	h.Process("k", "get", 6*hour)
	if got := h.Values(); len(got) != 1 || got[0] != "" {
		t.Errorf("an hour after it was first used: got %q", got)
	}
}

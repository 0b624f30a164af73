package operators

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/stream"
)

// counter is a ChangeWriter that counts.
type counter struct{ changes, bytes int }

func (c *counter) Put(_ stream.KeyGroup, _ uint16, key string, space, value []byte) error {
	c.changes, c.bytes = c.changes+1, c.bytes+len(key)+len(space)+len(value)
	return nil
}

func (c *counter) Delete(_ stream.KeyGroup, _ uint16, key string, space []byte) error {
	c.changes, c.bytes = c.changes+1, c.bytes+len(key)+len(space)
	return nil
}

func (r *joinRun) encode() (n counter) {
	r.checkpoint++
	for _, table := range r.ctx.Tables() {
		if f := table.Freeze(r.checkpoint); f != nil {
			must0(r.t, f.Encode(&n))
		}
	}
	return n
}

// plainJoin is a join of numbers as text that has seen nothing.
func plainJoin(t *testing.T, between Interval) *joinRun {
	r := &joinRun{t: t, store: newModelStore(), watermark: stream.MinTime}
	r.spec = func() Spec2[string, string, string] {
		return IntervalJoin(between, func(p Pair[string, string]) (string, error) { return p.A + "+" + p.B, nil }, JoinOptions[string, string]{})
	}
	r.open()
	return r
}

// TestABusyKeyCostsWhatAnyDoes: with 100,000 events of one key waiting, one more of them is written with few others, those that do not
// fit by their time are mostly not looked at, and each partner is found.
func TestABusyKeyCostsWhatAnyDoes(t *testing.T) {
	const waiting = 100_000
	for name, spread := range map[string]int64{"in a span": 1, "in many spans": 600_000} {
		t.Run(name, func(t *testing.T) {
			r := plainJoin(t, Between(-time.Second, time.Second))
			emit := func(*stream.Event[string]) error { r.late++; return nil }
			ev := stream.Event[string]{Key: []byte("busy"), Value: "1"}
			ev.Group, ev.Hash = stream.Locate(ev.Key, 16)
			add := func(ts int64) {
				ev.Timestamp = ts
				must0(t, r.op.ProcessA(&ev, emit))
			}
			for i := range int64(waiting) {
				add(i * 7919 % waiting * spread / waiting)
			}
			all := r.encode()
			if all.changes > waiting/bunchSize+2000 || all.bytes > 20*waiting {
				t.Errorf("%d events are %d changes of %d bytes", waiting, all.changes, all.bytes)
			}
			for i := range int64(50) {
				add(spread * i / 50)
				if one := r.encode(); one.changes > 2 || one.bytes > 1000 {
					t.Fatalf("an event costs %d changes of %d bytes", one.changes, one.bytes)
				}
			}
			ev.Timestamp = spread / 2
			must0(t, r.op.ProcessB(&ev, emit))
			if want := waiting * min(1, 2000/float64(spread)); float64(r.late) < want || float64(r.late) > want*1.01+50 {
				t.Errorf("%d partners, want %.0f and a few", r.late, want)
			}
			must0(t, r.op.OnWatermark(spread+3000, nil))
			checkEmpty(t, r.op)
		})
	}
}

// TestAJoinFindsWhatWaitsSinceAnotherInterval, whatever its length was, and goes back to it.
func TestAJoinFindsWhatWaitsSinceAnotherInterval(t *testing.T) {
	lengths := []time.Duration{0, 100 * time.Millisecond, 10 * time.Second, time.Hour, 24 * time.Hour, 10 * time.Second}
	for _, at := range lengths {
		r := plainJoin(t, Between(-at, at))
		n := 0
		step := func(side int, ts int64) {
			n++
			r.event(side, joinEvent{fmt.Sprintf("key %d", n%3), fmt.Sprint(n), ts})
		}
		for round, length := range lengths {
			between := Between(-length, length)
			r.spec = func() Spec2[string, string, string] {
				return IntervalJoin(between, func(p Pair[string, string]) (string, error) { return p.A + "+" + p.B, nil }, JoinOptions[string, string]{})
			}
			checkpointOf(t, r.store, r.op.a, int64(round+1), true)
			checkpointOf(t, r.store, r.op.b, int64(round+1), true)
			r.open()
			for i := range int64(100) {
				step(int(i%2), i*373%40_000)
			}
			slices.Sort(r.got)
			slices.Sort(r.want)
			if !slices.Equal(r.got, r.want) {
				t.Fatalf("from %s on, now %s: %d pairs, want %d", at, length, len(r.got), len(r.want))
			}
		}
		if grains := len(r.op.a.older); grains < 3 {
			t.Errorf("%d older lengths of spans, want some", grains)
		}
		// What waited for 24 hours on both sides is kept an eighth of them longer.
		must0(t, r.op.OnWatermark(40_000+10_000+6*3600_000+2500, nil))
		checkEmpty(t, r.op)
	}
}

// TestAnEventOfAJoinCostsNoAllocation: it comes, is looked for, and goes.
func TestAnEventOfAJoinCostsNoAllocation(t *testing.T) {
	r := plainJoin(t, Between(-time.Second, time.Second))
	var evs [64]stream.Event[string]
	for i := range evs {
		evs[i].Key = fmt.Appendf(nil, "key %d", i)
		evs[i].Group, evs[i].Hash = stream.Locate(evs[i].Key, 16)
	}
	emit := func(*stream.Event[string]) error { r.late++; return nil }
	now := int64(0)
	all := func() {
		now += 3000
		for i := range evs {
			evs[i].Timestamp = now
		}
		r.op.PrefetchA(evs[:32])
		r.op.PrefetchB(evs[32:])
		for i := range evs {
			must0(t, r.op.ProcessA(&evs[i], emit))
			must0(t, r.op.ProcessB(&evs[i], emit))
		}
		must0(t, r.op.OnWatermark(now, nil))
	}
	for range 100 {
		all()
	}
	r.late = 0
	n := testing.AllocsPerRun(100, func() { all() })
	if r.late != 101*len(evs) {
		t.Errorf("%d pairs, want %d", r.late, 101*len(evs))
	}
	// 128 results of join are texts put together; the pairs of the others are the same.
	if n > float64(len(evs)) {
		t.Errorf("%.2f allocations for %d events", n, 2*len(evs))
	}
}

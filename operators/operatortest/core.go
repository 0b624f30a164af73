package operatortest

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

const operatorName = "op"

// core is what the harnesses have in common, whatever the types of the operator.
type core struct {
	t          TB
	store      *Store
	ctxs       []*operators.Context // one an instance
	generator  operators.Generator  // of the one instance, or nil
	splits     int
	now        int64
	watermark  int64
	late       int
	checkpoint int64
	// log is what came out since the last look, a line each.
	log []string
	// onWatermark, nextClock and onClock call the instances; an instance may have nothing there.
	onWatermark []func(int64) error
	nextClock   []func() int64
	onClock     []func(int64) error
}

// Snapshot is what a checkpoint would hold of an operator.
type Snapshot struct {
	// Store has all the states, encoded.
	Store     *Store
	Watermark int64
	// MaxTimestamps are those of the splits of a Generator.
	MaxTimestamps []int64
	now           int64
}

func newCore(t TB, snap *Snapshot, c config) *core {
	h := &core{t: t, watermark: stream.MinTime, store: &Store{}}
	if snap != nil {
		h.store, h.watermark, h.now, h.checkpoint = snap.Store.clone(), snap.Watermark, snap.now, snap.Store.applied
	}
	for i := range c.parallelism {
		h.ctxs = append(h.ctxs, &operators.Context{
			Subtask:     stream.SubtaskID{Operator: operatorName, Index: i},
			Parallelism: c.parallelism,
			Groups:      stream.RangeOf(i, c.parallelism, stream.DefaultKeyGroups),
			KeyGroups:   stream.DefaultKeyGroups,
			Store:       h.store,
			Now:         func() int64 { return h.now },
			Logger:      slog.New(slog.DiscardHandler),
			Late:        func() { h.late++; h.note("late", "") },
			Side: func(tag string) any {
				if side := c.sides[tag]; side != nil {
					return side(h)
				}
				return nil
			},
		})
	}
	return h
}

// attach takes note of what an instance can do besides processing events, and opens its splits.
func attach[Out any](h *core, op any, emit stream.Emit[Out], snap *Snapshot) {
	onWatermark := func(int64) error { return nil }
	if o, ok := op.(operators.WatermarkHandler[Out]); ok {
		onWatermark = func(w int64) error { return o.OnWatermark(w, emit) }
	}
	nextClock, onClock := func() int64 { return stream.MaxTime }, func(int64) error { return nil }
	if o, ok := op.(operators.ClockHandler[Out]); ok {
		nextClock, onClock = o.NextClock, func(now int64) error { return o.OnClock(now, emit) }
	}
	if snap != nil && snap.Watermark != stream.MinTime {
		h.must("restore", onWatermark(snap.Watermark))
	}
	h.onWatermark = append(h.onWatermark, onWatermark)
	h.nextClock, h.onClock = append(h.nextClock, nextClock), append(h.onClock, onClock)
	if g, ok := op.(operators.Generator); ok && h.generator == nil {
		h.generator, h.splits = g, 1
		if snap == nil {
			g.OpenSplit(0, stream.MinTime)
			return
		}
		h.splits = len(snap.MaxTimestamps)
		for i, ts := range snap.MaxTimestamps {
			g.OpenSplit(int32(i), ts)
		}
	}
}

func (h *core) note(what, line string) { h.log = append(h.log, what+line) }

func (h *core) fatal(format string, args ...any) {
	if h.t == nil {
		panic(fmt.Sprintf(format, args...))
	}
	h.t.Helper()
	h.t.Fatalf(format, args...)
}

func (h *core) must(what string, err error) {
	if err != nil {
		h.fatal("%s: %v", what, err)
	}
}

func (h *core) instance(group stream.KeyGroup) int {
	return stream.SubtaskOf(group, len(h.ctxs), stream.DefaultKeyGroups)
}

// Watermark moves event time on: [stream.MaxTime] ends the input. A watermark that would go back is ignored, as the engine
// does.
func (h *core) Watermark(ts int64) {
	if ts <= h.watermark {
		return
	}
	h.watermark = ts
	for _, f := range h.onWatermark {
		h.must("watermark", f(ts))
	}
}

// Clock moves the fake clock, which begins at 0, to now and calls the operator if it has a timer that is due.
func (h *core) Clock(now int64) {
	h.now = now
	for i, next := range h.nextClock {
		if next() <= now {
			h.must("clock", h.onClock[i](now))
		}
	}
}

// Log returns all that came out since the last call, in order, a line each: results and side outputs as "key@timestamp
// value header=value ...", and "late".
func (h *core) Log() []string {
	l := h.log
	h.log = nil
	return l
}

// Late is how many events were counted as too late.
func (h *core) Late() int { return h.late }

// Generator is the operator as a [operators.Generator], nil if it is none. Split 0 is open.
func (h *core) Generator() operators.Generator { return h.generator }

// OpenSplit opens the next split and returns its number.
func (h *core) OpenSplit() int32 {
	h.splits++
	h.generator.OpenSplit(int32(h.splits-1), stream.MinTime)
	return int32(h.splits - 1)
}

// Snapshot freezes all states and encodes what has changed, as a checkpoint does. The harness can go on.
func (h *core) Snapshot() *Snapshot {
	h.checkpoint++
	for _, ctx := range h.ctxs {
		for _, table := range ctx.Tables() {
			if frozen := table.Freeze(h.checkpoint); frozen != nil {
				h.must("snapshot", frozen.Encode(write{h.store}))
			}
		}
	}
	h.store.applied = h.checkpoint
	snap := &Snapshot{Store: h.store.clone(), Watermark: h.watermark, now: h.now}
	if h.generator != nil {
		for i := range h.splits {
			snap.MaxTimestamps = append(snap.MaxTimestamps, h.generator.MaxTimestamp(int32(i)))
		}
	}
	return snap
}

// Evict takes out of memory what the last Snapshot holds, so that the operator must read it back.
func (h *core) Evict() {
	for _, ctx := range h.ctxs {
		for _, table := range ctx.Tables() {
			table.Evict(0, math.MaxInt)
		}
	}
}

// Entries is the number of state entries in memory.
func (h *core) Entries() int {
	n := 0
	for _, ctx := range h.ctxs {
		for _, table := range ctx.Tables() {
			n += table.Entries()
		}
	}
	return n
}

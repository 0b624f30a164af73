package operators

import (
	"log/slog"

	"github.com/weirstream/weir/stream"
)

// Operator turns events of type In into events of type Out. One value serves one subtask and all its methods are
// called from one goroutine: an operator needs no lock, starts no goroutine and never sees a barrier. An error ends the
// attempt; the engine adds where it happened.
type Operator[In, Out any] interface {
	// Open is called once, before anything else: here an operator declares its states, timers and side outputs.
	Open(*Context) error
	// Process handles one event. Both the event and what is emitted are valid only during the call.
	Process(*stream.Event[In], stream.Emit[Out]) error
}

// WatermarkHandler is an operator that acts when event time moves on. The engine forwards the watermark itself, after
// the call. A watermark never goes back; [stream.MaxTime] is the end of the input. An operator that is restored is told the
// watermark of the checkpoint before anything else, so that what was late then is late now; nothing is due at that call.
type WatermarkHandler[Out any] interface {
	OnWatermark(watermark int64, emit stream.Emit[Out]) error
}

// Prefetcher is an operator that can bring what Process will need of some events into the processor's caches, so that the
// waits for memory overlap. The engine calls it with at most [PrefetchMost] events, and then Process for each of them. It
// changes nothing.
type Prefetcher[In any] interface {
	Prefetch([]stream.Event[In])
}

// Prefetcher2 is [Prefetcher] for an [Operator2]. The engine calls PrefetchA before ProcessA, PrefetchB before ProcessB.
type Prefetcher2[A, B any] interface {
	PrefetchA([]stream.Event[A])
	PrefetchB([]stream.Event[B])
}

// PrefetchMost is how many events are prefetched at a time: what they need has to stay in the smallest cache.
const PrefetchMost = 32

// ClockHandler is an operator with processing-time timers. NextClock returns when it wants to be called (milliseconds
// since the Unix epoch; [stream.MaxTime] for never) and OnClock is called not before that.
type ClockHandler[Out any] interface {
	NextClock() int64
	OnClock(now int64, emit stream.Emit[Out]) error
}

// Generator is an operator that makes watermarks out of what it sees; it stands in the same chain as its source. The
// source tells it of its splits, and the engine asks for the watermark after each batch.
type Generator interface {
	// OpenSplit announces a split; maxTimestamp is what MaxTimestamp returned at the checkpoint that the attempt restored,
	// or [stream.MinTime] for a new one.
	OpenSplit(split int32, maxTimestamp int64)
	// SetIdle tells that a split has nothing to say at the moment (or has again) and so does not hold time back.
	SetIdle(split int32, idle bool)
	// CloseSplit tells that nothing more will come from a split.
	CloseSplit(split int32)
	// MaxTimestamp is what the checkpoint keeps for the split.
	MaxTimestamp(split int32) int64
	// Watermark is the least over the splits that are open and not idle. With none of those, idle is true, and it is the
	// greatest over those that are open, as of Flink's inputs: nobody holds time back then. It never goes back.
	Watermark() (watermark int64, idle bool)
}

// Aligned is a [Generator] whose splits are kept close to others in event time.
type Aligned interface {
	// MaxDrift is how far a split may be ahead of another, in milliseconds; 0 for any.
	MaxDrift() int64
}

// Spec describes an operator before there is any subtask of it: what job.Via takes.
type Spec[In, Out any] struct {
	// Kind is the operator's kind as docs and checkpoints name it: "filter", "count", ...
	Kind string
	// Keyed operators need a key_by before them; EventTime ones need an event_time step.
	Keyed, EventTime bool
	// New makes the operator of one subtask.
	New func() Operator[In, Out]
	// Err is a mistake in the arguments, reported when the job is validated.
	Err error
}

// Context is what the engine gives an operator of one subtask.
type Context struct {
	Subtask     stream.SubtaskID
	Parallelism int
	// Groups is the subtask's share of the KeyGroups key groups.
	Groups    stream.KeyGroupRange
	KeyGroups int
	// Store holds what was restored or evicted; nil if the operator is not keyed.
	Store StateStore
	// Now is the engine's clock: milliseconds since the Unix epoch.
	Now    func() int64
	Logger *slog.Logger
	// Late counts a record that came after its window was dropped.
	Late func()
	// Side returns the emit function of a side output as a stream.Emit[T] of the tag's type, nil if nobody reads it.
	Side func(tag string) any

	tables []Table
	values []interface{ prefetch(hashes []uint32) }
	key    currentKey
	times  times
}

type currentKey struct {
	group stream.KeyGroup
	key   string
	hash  uint32 // for indexes; the bits that do not choose the key group
}

// SetKey makes key the current one: states of this context answer for it until the next call. The string may share a
// record's bytes; states copy it where they keep it.
func (c *Context) SetKey(group stream.KeyGroup, key string) {
	c.key = currentKey{group, key, stream.HashOf(keyBytes(key))}
}

// hashOf is the hash of an event's key, which it may have brought along.
func hashOf[T any](ev *stream.Event[T]) uint32 {
	if ev.Hash != 0 {
		return ev.Hash
	}
	return stream.HashOf(ev.Key)
}

// prefetch does what [Prefetcher] is for, for the value states.
func prefetch[T any](c *Context, events []stream.Event[T]) {
	var hashes [PrefetchMost]uint32
	for i := range events {
		hashes[i] = hashOf(&events[i])
	}
	for _, v := range c.values {
		v.prefetch(hashes[:len(events)])
	}
}

// Key is the current key.
func (c *Context) Key() string { return c.key.key }

// Group is the current key's key group.
func (c *Context) Group() stream.KeyGroup { return c.key.group }

// Tables lists the states declared so far, in order of declaration.
func (c *Context) Tables() []Table { return c.tables }

// Operator2 is an operator with two keyed inputs, on which joins are built. Both inputs share key groups, states and
// timers.
type Operator2[A, B, Out any] interface {
	Open(*Context) error
	ProcessA(*stream.Event[A], stream.Emit[Out]) error
	ProcessB(*stream.Event[B], stream.Emit[Out]) error
}

// Spec2 describes an operator with two inputs: what job.Connect takes. Its inputs are always keyed.
type Spec2[A, B, Out any] struct {
	Kind      string
	EventTime bool
	New       func() Operator2[A, B, Out]
	Err       error
}

// Tag names a side output whose events have values of type T.
type Tag[T any] struct{ Name string }

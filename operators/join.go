package operators

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/stream"
)

// Interval says which events of the two inputs of an [IntervalJoin] make a pair: made by [Between].
type Interval struct {
	// An event of B at lower to upper after one of A, both included, is its partner. Milliseconds.
	lower, upper int64
	set          bool
	err          error
}

// Between is the interval of the events of B that are later than one of A by lower at least and upper at most, both
// included. Negative durations reach back: Between(-time.Minute, 0) pairs an event of A with those of B in the minute
// before it. Both are whole milliseconds.
func Between(lower, upper time.Duration) Interval {
	i := Interval{lower: lower.Milliseconds(), upper: upper.Milliseconds(), set: true}
	switch {
	case lower > upper:
		i.err = fmt.Errorf("between %s and %s is nothing: the lower bound is the greater", lower, upper)
	case lower%time.Millisecond != 0 || upper%time.Millisecond != 0:
		i.err = fmt.Errorf("between %s and %s: not whole milliseconds", lower, upper)
	}
	return i
}

// Pair is what an [IntervalJoin] has found: an event of each input, with the same key.
type Pair[A, B any] struct {
	// Key may share a record's bytes: who keeps it for long clones it.
	Key string
	A   A
	B   B
	// TimeA and TimeB are the events' timestamps, in milliseconds since the Unix epoch.
	TimeA, TimeB int64
}

// JoinOptions are the options of an [IntervalJoin].
type JoinOptions[A, B any] struct {
	// AllowedLateness is how far an event may be behind the watermark and still find its partners, which are kept for so much
	// longer. After a restart the watermark may be behind for a moment: an event that came too late then finds those of its
	// partners that are still there.
	AllowedLateness time.Duration
	// LateA and LateB are the side outputs of the events that came later. They are counted in any case, and make no pairs.
	LateA Tag[A]
	LateB Tag[B]
	// CodecA and CodecB encode the values that wait for partners. Nil is CBOR.
	CodecA Codec[A]
	CodecB Codec[B]
}

// IntervalJoin pairs the events of two inputs by their key and their time, and calls join for each pair, as soon as the
// later of the two is there. A result has the later one's timestamp and the key; it has no headers. The order of results
// of one key follows the order in which the events came; what they are does not. An event is kept until the watermark says
// that all its partners have come, and those of later events of its key that are less than the interval's length after it.
// What join is given must not be changed in place: it may meet further partners. As with every state, a text that shares the
// bytes of a record should be cloned before it waits here (strings.Clone).
//
// It is the interval join of Flink's DataStream API, and what Kafka Streams does with KStream.join and JoinWindows. Events
// that have no partner make no result.
func IntervalJoin[A, B, Out any](between Interval, join func(Pair[A, B]) (Out, error), opts JoinOptions[A, B]) Spec2[A, B, Out] {
	return Spec2[A, B, Out]{
		Kind:      "interval_join",
		EventTime: true,
		Err:       checkJoin(between, join == nil, opts.AllowedLateness),
		New: func() Operator2[A, B, Out] {
			return &intervalJoin[A, B, Out]{between: between, join: join, opts: opts, lateness: ceilMillis(opts.AllowedLateness)}
		},
	}
}

func checkJoin(between Interval, noJoin bool, lateness time.Duration) error {
	switch {
	case between.err != nil:
		return fmt.Errorf("interval_join: %w", between.err)
	case !between.set:
		return errors.New("interval_join: no interval: use Between")
	case lateness < 0:
		return fmt.Errorf("interval_join: allowed lateness %s is negative", lateness)
	}
	return needFunc("interval_join", noJoin)
}

type intervalJoin[A, B, Out any] struct {
	between  Interval
	join     func(Pair[A, B]) (Out, error)
	opts     JoinOptions[A, B]
	lateness int64

	ctx       *Context
	a         *waiting[A]
	b         *waiting[B]
	lateA     stream.Emit[A] // nil if nobody reads it
	lateB     stream.Emit[B]
	watermark int64
	out       stream.Event[Out]
}

func (o *intervalJoin[A, B, Out]) Open(ctx *Context) (err error) {
	o.ctx, o.watermark = ctx, stream.MinTime
	o.lateA, o.lateB = sideOutput(ctx, o.opts.LateA), sideOutput(ctx, o.opts.LateB)
	length := o.between.upper - o.between.lower
	if o.a, err = newWaiting(ctx, "a", o.between.upper+o.lateness, length, o.opts.CodecA); err != nil {
		return err
	}
	o.b, err = newWaiting(ctx, "b", o.lateness-o.between.lower, length, o.opts.CodecB)
	return err
}

// PrefetchA implements [Prefetcher2].
func (o *intervalJoin[A, B, Out]) PrefetchA(events []stream.Event[A]) {
	prefetchJoin(events, o.a, o.b, o.between.lower, o.between.upper)
}

// PrefetchB implements [Prefetcher2].
func (o *intervalJoin[A, B, Out]) PrefetchB(events []stream.Event[B]) {
	prefetchJoin(events, o.b, o.a, -o.between.upper, -o.between.lower)
}

// prefetchJoin does what [Prefetcher2] is for: events of one input are put into own, and their partners looked for in other,
// from and to so many milliseconds away.
func prefetchJoin[T, Own, Other any](events []stream.Event[T], own *waiting[Own], other *waiting[Other], from, to int64) {
	var mine, theirs [PrefetchMost]uint32
	n := 0
	for i := range events {
		ev := &events[i]
		hash := hashOf(ev)
		mine[i] = mixed(hash, placeOf(own.grain, spanOf(ev.Timestamp, own.grain)))
		last := spanOf(move(ev.Timestamp, to), other.grain)
		for span := spanOf(move(ev.Timestamp, from), other.grain); span <= last; span++ {
			if n == len(theirs) {
				other.prefetch(theirs[:])
				n = 0
			}
			theirs[n] = mixed(hash, placeOf(other.grain, span))
			n++
		}
	}
	other.prefetch(theirs[:n])
	own.prefetch(mine[:len(events)])
}

func (o *intervalJoin[A, B, Out]) ProcessA(ev *stream.Event[A], emit stream.Emit[Out]) error {
	setKey(o.ctx, ev)
	if !o.InTime(ev.Timestamp, o.watermark) {
		return tooLate(o.ctx, ev, o.lateA)
	}
	pair := Pair[A, B]{Key: o.ctx.Key(), A: ev.Value, TimeA: ev.Timestamp}
	err := o.b.each(move(ev.Timestamp, o.between.lower), move(ev.Timestamp, o.between.upper), func(ts int64, v B) error {
		pair.B, pair.TimeB = v, ts
		return o.found(&pair, emit)
	})
	if err != nil {
		return err
	}
	return o.a.add(ev.Timestamp, ev.Value, o.watermark)
}

func (o *intervalJoin[A, B, Out]) ProcessB(ev *stream.Event[B], emit stream.Emit[Out]) error {
	setKey(o.ctx, ev)
	if !o.InTime(ev.Timestamp, o.watermark) {
		return tooLate(o.ctx, ev, o.lateB)
	}
	pair := Pair[A, B]{Key: o.ctx.Key(), B: ev.Value, TimeB: ev.Timestamp}
	err := o.a.each(move(ev.Timestamp, -o.between.upper), move(ev.Timestamp, -o.between.lower), func(ts int64, v A) error {
		pair.A, pair.TimeA = v, ts
		return o.found(&pair, emit)
	})
	if err != nil {
		return err
	}
	return o.b.add(ev.Timestamp, ev.Value, o.watermark)
}

// found emits the result of a pair of the current key.
func (o *intervalJoin[A, B, Out]) found(pair *Pair[A, B], emit stream.Emit[Out]) error {
	v, err := o.join(*pair)
	if err != nil {
		return err
	}
	o.out = stream.Event[Out]{
		Value: v, Timestamp: max(pair.TimeA, pair.TimeB), Key: keyBytes(pair.Key), Group: o.ctx.Group(), Hash: o.ctx.key.hash,
	}
	return emit(&o.out)
}

// InTime implements [Punctual]: none of the event's partners has gone.
func (o *intervalJoin[A, B, Out]) InTime(ts, watermark int64) bool {
	return addTime(ts, o.lateness) >= watermark
}

// OnWatermark lets those events go that cannot meet a partner any more.
func (o *intervalJoin[A, B, Out]) OnWatermark(watermark int64, _ stream.Emit[Out]) error {
	if watermark <= o.watermark {
		return nil
	}
	o.watermark = watermark
	if err := o.a.expire(watermark); err != nil {
		return err
	}
	return o.b.expire(watermark)
}

// move moves a time by d milliseconds, forward or back, and stops at the ends of time.
func move(t, d int64) int64 {
	if d < 0 {
		return subTime(t, -d)
	}
	return addTime(t, d)
}

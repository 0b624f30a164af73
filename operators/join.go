package operators

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
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
// that all its partners have come. What join is given must not be changed in place: it may meet further partners. As with
// every state, a text that shares the bytes of a record should be cloned before it waits here (strings.Clone).
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

	ctx   *Context
	a     waiting[A]
	b     waiting[B]
	lateA stream.Emit[A] // nil if nobody reads it
	lateB stream.Emit[B]
	// timers has one for each key and input with events, its namespace the input: not before the oldest of them goes.
	timers    *Timers
	watermark int64
	out       stream.Event[Out]
}

func (o *intervalJoin[A, B, Out]) Open(ctx *Context) (err error) {
	o.ctx, o.watermark = ctx, stream.MinTime
	o.lateA, o.lateB = sideOutput(ctx, o.opts.LateA), sideOutput(ctx, o.opts.LateB)
	if o.a, err = newWaiting(ctx, "a", inputA, o.between.upper+o.lateness, o.opts.CodecA); err != nil {
		return err
	}
	if o.b, err = newWaiting(ctx, "b", inputB, o.lateness-o.between.lower, o.opts.CodecB); err != nil {
		return err
	}
	if o.timers, err = NewTimers(ctx, "expiry"); err != nil {
		return err
	}
	o.a.grain = max(1, (o.between.upper-o.between.lower)/8)
	o.b.grain = o.a.grain
	return nil
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
	return o.a.add(ev.Timestamp, ev.Value, o.watermark, o.timers)
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
	return o.b.add(ev.Timestamp, ev.Value, o.watermark, o.timers)
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
	for {
		group, key, _, input, ok := o.timers.Pop(watermark)
		if !ok {
			return nil
		}
		o.ctx.SetKey(group, key)
		expire := o.a.expire
		if input == inputB {
			expire = o.b.expire
		}
		if err := expire(watermark, o.timers); err != nil {
			return err
		}
	}
}

// The inputs of a join, as they stand in the namespaces of its timers.
const (
	inputA = iota
	inputB
)

// waiting is the events of one input that wait for partners, by their time, then by their order.
type waiting[V any] struct {
	events *MapState[placed, V]
	input  int64
	// kept is how long after its time an event is kept, and grain how much longer at most. Milliseconds; kept may be negative.
	kept, grain int64
}

func newWaiting[V any](ctx *Context, name string, input, kept int64, codec Codec[V]) (w waiting[V], err error) {
	w = waiting[V]{input: input, kept: kept}
	w.events, err = NewMap[placed, V](ctx, name, placedCodec{}, codec)
	return w, err
}

// each calls fn for the events of the current key from one time to another, both included.
func (w *waiting[V]) each(from, to int64, fn func(ts int64, v V) error) error {
	err := w.events.from(placeOf(from, 0), func(at placed, v V) error {
		if ts := at.time(); ts <= to {
			return fn(ts, v)
		}
		return errEnough
	})
	if err == errEnough {
		return nil
	}
	return err
}

var errEnough = errors.New("no more of these")

// add keeps an event of the current key, if partners of it may come.
func (w *waiting[V]) add(ts int64, v V, watermark int64, timers *Timers) error {
	if w.goes(ts) <= watermark {
		return nil
	}
	n, err := w.events.Len()
	if err != nil {
		return err
	}
	at := placeOf(ts, 0)
	if n > 0 {
		last, ok, err := w.events.before(placeOf(ts, math.MaxUint32))
		if err != nil {
			return err
		}
		if ok && last.time() == ts {
			at = placeOf(ts, last.number()+1)
		}
	} else if err := w.arm(ts, timers); err != nil {
		return err
	}
	return w.events.Put(at, v)
}

// goes is when an event's last partner may have come: the watermark that lets it go.
func (w *waiting[V]) goes(ts int64) int64 { return move(move(ts, w.kept), 1) }

// arm sets the current key's timer for its oldest event, to the next multiple of grain: what comes within one goes at once.
func (w *waiting[V]) arm(ts int64, timers *Timers) error {
	due := w.goes(ts)
	if r := due % w.grain; r > 0 {
		due = addTime(due, w.grain-r)
	}
	return timers.Add(due, w.input)
}

// expire lets events of the current key go. The timer may have been set by a job with another interval.
func (w *waiting[V]) expire(watermark int64, timers *Timers) error {
	err := w.events.All(func(at placed, _ V) error {
		if ts := at.time(); w.goes(ts) > watermark {
			if err := w.arm(ts, timers); err != nil {
				return err
			}
			return errEnough
		}
		return w.events.Delete(at)
	})
	if err == errEnough {
		return nil
	}
	return err
}

// move moves a time by d milliseconds, forward or back, and stops at the ends of time.
func move(t, d int64) int64 {
	if d < 0 {
		return subTime(t, -d)
	}
	return addTime(t, d)
}

// placed is the name of a waiting event: its time (8 bytes, in an order that sorts) and the number of those of this time
// before it (4 bytes, big endian).
type placed [12]byte

func placeOf(ts int64, n uint32) (p placed) {
	binary.BigEndian.PutUint32(appendInt(p[:0], ts)[8:12], n)
	return p
}

func (p placed) time() int64    { return intOf(p[:8]) }
func (p placed) number() uint32 { return binary.BigEndian.Uint32(p[8:]) }

type placedCodec struct{}

func (placedCodec) Type() string   { return "time and number" }
func (placedCodec) Version() int   { return 1 }
func (placedCodec) Schema() string { return schemaFor(reflect.TypeFor[placed]()) }

func (placedCodec) Append(dst []byte, p placed) ([]byte, error) { return append(dst, p[:]...), nil }

func (placedCodec) Decode(b []byte) (p placed, err error) {
	if copy(p[:], b) != len(b) || len(b) != len(p) {
		return p, fmt.Errorf("the name of a waiting event has %d bytes instead of %d", len(b), len(p))
	}
	return p, nil
}

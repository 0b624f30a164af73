package operators

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/stream"
)

// EventTime gives each event the time that fn reads out of its value, and makes watermarks: an event may come up to
// bound later than another of its split that carries a greater time, and is in time then. It must stand in the same chain
// as its source, where each split is seen in order.
func EventTime[T any](fn func(T) time.Time, bound time.Duration, opts ...EventTimeOption) Spec[T, T] {
	spec := EventTimeMillis(func(v T) int64 { return fn(v).UnixMilli() }, bound, opts...)
	if fn == nil {
		spec.Err = needFunc("event_time", true)
	}
	return spec
}

// EventTimeMillis is [EventTime] for a time in milliseconds since the Unix epoch.
func EventTimeMillis[T any](fn func(T) int64, bound time.Duration, opts ...EventTimeOption) Spec[T, T] {
	var o eventTimeOptions
	for _, opt := range opts {
		opt(&o)
	}
	err := needFunc("event_time", fn == nil)
	switch {
	case err != nil:
	case bound < 0:
		err = fmt.Errorf("event_time: bound %s is negative", bound)
	case o.maxDrift < 0:
		err = fmt.Errorf("event_time: maximum drift %s is negative", o.maxDrift)
	}
	return Spec[T, T]{
		Kind: "event_time",
		New: func() Operator[T, T] {
			return &eventTime[T]{fn: fn, bound: ceilMillis(bound), maxDrift: ceilMillis(o.maxDrift)}
		},
		Err: err,
	}
}

// EventTimeOption changes an event_time step.
type EventTimeOption func(*eventTimeOptions)

type eventTimeOptions struct{ maxDrift time.Duration }

// MaxDrift aligns the splits before the step with all others of the job whose step has it too: one whose event time is more than d
// ahead of that of another is not read on until the other has followed, if the other has something to read. 0, the default, aligns
// nothing. Of several such steps behind one source the first counts. Where partitions are read at different paces, as when a job catches up, this bounds how many events have to wait in
// windows and joins for the slowest. A split may be ahead by a few thousand records beyond d, those that were handed on already;
// a d that is not much longer costs throughput.
func MaxDrift(d time.Duration) EventTimeOption {
	return func(o *eventTimeOptions) { o.maxDrift = d }
}

type eventTime[T any] struct {
	fn    func(T) int64
	bound int64
	// maxDrift is 0 for any.
	maxDrift int64
	splits   []splitTime // by index
	last     int64       // the last watermark: it never goes back
	out      stream.Event[T]
}

type splitTime struct {
	max        int64
	open, idle bool
}

func (o *eventTime[T]) Open(*Context) error {
	o.last = stream.MinTime
	return nil
}

func (o *eventTime[T]) Process(ev *stream.Event[T], emit stream.Emit[T]) error {
	if int(ev.Split) >= len(o.splits) || !o.splits[ev.Split].open {
		return fmt.Errorf("event_time: an event of split %d, which is not open", ev.Split)
	}
	ts := o.fn(ev.Value)
	if s := &o.splits[ev.Split]; ts > s.max {
		s.max = ts
	}
	// A copy, since others may read the same event.
	derive(&o.out, ev, ev.Value)
	o.out.Timestamp = ts
	return emit(&o.out)
}

// OpenSplit implements [Generator].
func (o *eventTime[T]) OpenSplit(split int32, maxTimestamp int64) {
	for int(split) >= len(o.splits) {
		o.splits = append(o.splits, splitTime{max: stream.MinTime})
	}
	o.splits[split] = splitTime{max: maxTimestamp, open: true}
}

// SetIdle implements [Generator].
func (o *eventTime[T]) SetIdle(split int32, idle bool) { o.splits[split].idle = idle }

// CloseSplit implements [Generator].
func (o *eventTime[T]) CloseSplit(split int32) { o.splits[split].open = false }

// MaxDrift implements [Aligned].
func (o *eventTime[T]) MaxDrift() int64 { return o.maxDrift }

// MaxTimestamp implements [Generator].
func (o *eventTime[T]) MaxTimestamp(split int32) int64 { return o.splits[split].max }

// Watermark implements [Generator]. The watermark of a split is its greatest time less the bound less one: an event of
// exactly that age is still in time.
func (o *eventTime[T]) Watermark() (watermark int64, idle bool) {
	least, greatest := stream.MaxTime, stream.MinTime
	idle = true
	for i := range o.splits {
		s := &o.splits[i]
		if !s.open {
			continue
		}
		greatest = max(greatest, s.max)
		if !s.idle {
			idle = false
			least = min(least, s.max)
		}
	}
	if idle {
		// Nobody holds time back. Where several become idle at once, none of them is to be the one that did.
		least = greatest
	}
	o.last = max(o.last, subTime(least, o.bound+1))
	return o.last, idle
}

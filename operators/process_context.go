package operators

import "github.com/weirstream/weir/stream"

// Timer is a timer that is due.
type Timer struct {
	// Time is what it was set to, in milliseconds since the Unix epoch.
	Time int64
	// Clock tells a processing-time timer from an event-time one.
	Clock bool
}

// ProcessContext is what a [Processor] or [Processor2] sees of the call under way. It is valid only during the call.
type ProcessContext struct {
	ctx       *Context
	events    *Timers
	clock     *Timers
	timestamp int64
	watermark int64
	// reached is the event time up to which no timer of this call fires any more but with the next watermark: the
	// watermark, or while timers fire, the time of the one that does.
	reached int64
}

// Key is the current key. It may share a record's bytes: who keeps it for long clones it.
func (c *ProcessContext) Key() string { return c.ctx.Key() }

// Timestamp is the event's timestamp or the timer's time, in milliseconds since the Unix epoch.
func (c *ProcessContext) Timestamp() int64 { return c.timestamp }

// SetTimestamp sets the timestamp of what is emitted from now on in this call.
func (c *ProcessContext) SetTimestamp(ts int64) { c.timestamp = ts }

// Watermark is the operator's event time: no earlier event is expected. It is [stream.MinTime] as long as nothing is
// known, and [stream.MaxTime] while the timers fire at the end of the input.
func (c *ProcessContext) Watermark() int64 { return c.watermark }

// Now is the processing time, in milliseconds since the Unix epoch. A result that depends on it is another one when the
// input is read again.
func (c *ProcessContext) Now() int64 { return c.ctx.Now() }

// SetTimer sets an event-time timer of the current key: OnTimer is called when the watermark reaches ts; if it has
// already, with the next watermark. A key has at most one such timer for each ts. At the end of the input all timers
// fire, also those for later times that are set meanwhile: a timer that sets the next one must stop when Watermark is
// [stream.MaxTime].
func (c *ProcessContext) SetTimer(ts int64) error {
	if ts <= c.reached && c.watermark == stream.MaxTime {
		return nil // there is no next watermark
	}
	return c.events.Add(c.due(ts), ts)
}

// DeleteTimer takes an event-time timer of the current key back. It may not exist.
func (c *ProcessContext) DeleteTimer(ts int64) error {
	if due := c.due(ts); due != ts {
		if err := c.events.Delete(due, ts); err != nil {
			return err
		}
	}
	return c.events.Delete(ts, ts)
}

// due is when an event-time timer fires that is set to ts now: one in the past is not due before the watermark moves on,
// so that a restart, which tells the operator the same watermark again, does not fire it.
func (c *ProcessContext) due(ts int64) int64 {
	if ts <= c.reached {
		return addTime(c.watermark, 1)
	}
	return ts
}

// SetClockTimer sets a processing-time timer of the current key: OnTimer is called when the clock has reached ts. It does
// not fire because the input ends. A key has at most one such timer for each ts.
func (c *ProcessContext) SetClockTimer(ts int64) error { return c.clock.Add(ts, ts) }

// DeleteClockTimer takes a processing-time timer of the current key back. It may not exist.
func (c *ProcessContext) DeleteClockTimer(ts int64) error { return c.clock.Delete(ts, ts) }

// timed is what [Process] and [Connect] share: the context, the timers, and the emit function that makes events of
// values.
type timed[Out any] struct {
	onTimer func(*ProcessContext, Timer, func(Out) error) error
	c       ProcessContext
	emit    func(Out) error // made once, so that no event costs a closure
	next    stream.Emit[Out]
	out     stream.Event[Out]
}

func (o *timed[Out]) open(ctx *Context) (err error) {
	o.c = ProcessContext{ctx: ctx, watermark: stream.MinTime, reached: stream.MinTime}
	o.emit = func(v Out) error {
		o.out.Value, o.out.Timestamp = v, o.c.timestamp
		return o.next(&o.out)
	}
	if o.c.events, err = NewTimers(ctx, "timers"); err != nil {
		return err
	}
	o.c.clock, err = NewTimers(ctx, "clock timers")
	return err
}

// beginEvent makes the event's key the current one and its envelope that of what will be emitted.
func beginEvent[In, Out any](o *timed[Out], ev *stream.Event[In], next stream.Emit[Out]) {
	setKey(o.c.ctx, ev)
	o.c.timestamp, o.next = ev.Timestamp, next
	o.out.Key, o.out.Headers, o.out.Split, o.out.Group, o.out.Hash = ev.Key, ev.Headers, ev.Split, ev.Group, ev.Hash
}

// OnWatermark fires the event-time timers that are due, in order of time, then key.
func (o *timed[Out]) OnWatermark(watermark int64, emit stream.Emit[Out]) error {
	if watermark <= o.c.watermark {
		return nil
	}
	o.c.watermark = watermark
	err := o.fire(o.c.events, false, watermark, emit)
	o.c.reached, o.c.ctx.times.watermark = watermark, watermark
	return err
}

// NextClock implements [ClockHandler].
func (o *timed[Out]) NextClock() int64 { return o.c.clock.Next() }

// OnClock implements [ClockHandler].
func (o *timed[Out]) OnClock(now int64, emit stream.Emit[Out]) error {
	return o.fire(o.c.clock, true, now, emit)
}

func (o *timed[Out]) fire(timers *Timers, clock bool, upTo int64, emit stream.Emit[Out]) error {
	o.next = emit
	for {
		group, key, due, ts, ok := timers.Pop(upTo)
		if !ok {
			return nil
		}
		if !clock {
			o.c.reached, o.c.ctx.times.watermark = due, due
		}
		o.c.ctx.SetKey(group, key)
		o.c.timestamp, o.c.ctx.times.event = ts, stream.MinTime
		o.out.Key, o.out.Headers, o.out.Split, o.out.Group, o.out.Hash = keyBytes(key), nil, 0, group, o.c.ctx.key.hash
		if err := o.onTimer(&o.c, Timer{Time: ts, Clock: clock}, o.emit); err != nil {
			return err
		}
	}
}

package operators

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/stream"
)

// TTL lets what a state has for a key expire, as a whole: a value, a list, or a map with all its entries. What has expired is
// never returned, and is deleted bit by bit while the state is used, without a scan.
type TTL struct {
	// After is how long an entry lives, from its last write on; of event time or processing time as Time says.
	After   time.Duration
	Time    TTLTime
	Refresh TTLRefresh
}

// TTLTime is the time that a [TTL] counts.
type TTLTime int

const (
	// TTLEventTime: an entry is dated by the event (or timer) that writes it, and has expired for an event that is After
	// later, or when the watermark is. The same input expires the same entries whenever it is read, as far as no event is
	// late: which are depends on how far the watermark is.
	TTLEventTime TTLTime = iota
	// TTLProcessingTime: the clock decides. Results depend on when the input is read.
	TTLProcessingTime
)

// TTLRefresh says what makes an entry live longer.
type TTLRefresh int

const (
	// TTLOnWrite: only what changes the entry.
	TTLOnWrite TTLRefresh = iota
	// TTLOnReadAndWrite: reading it too.
	TTLOnReadAndWrite
)

func (o TTL) check() error {
	switch {
	case o.After < time.Millisecond || o.After%time.Millisecond != 0:
		return fmt.Errorf("ttl: %s is not a whole number of milliseconds, 1 or more", o.After)
	case o.Time != TTLEventTime && o.Time != TTLProcessingTime:
		return fmt.Errorf("ttl: unknown time %d", o.Time)
	case o.Refresh != TTLOnWrite && o.Refresh != TTLOnReadAndWrite:
		return fmt.Errorf("ttl: unknown refresh %d", o.Refresh)
	}
	return nil
}

// expiry is the TTL of one state. It keeps, as states of its own, when the entry of each key expires, and a timer for each
// key at that time, rounded up to a sixteenth of After: one that comes too early, since the entry was written again, is set
// anew. So a write costs one more entry, and a timer is written a few times in the life of an entry, not at every write.
// Entries that were there before the state had a TTL begin their time when they are first used.
type expiry struct {
	ctx          *Context
	ttl          TTL
	after, grain int64
	until        *Value[int64]
	due          *Timers
	drop         func() error // deletes what the state has for the current key
	busy         bool         // within a call of drop
}

// times are what event time TTLs go by.
type times struct {
	set              bool
	event, watermark int64
}

// cleanedAtOnce is how many entries of other keys one use of a state deletes at most: more than it can add.
const cleanedAtOnce = 2

// newExpiry declares the states that a TTL needs; nil if there is none.
func newExpiry(ctx *Context, name string, ttl []TTL, drop func() error) (*expiry, error) {
	if len(ttl) == 0 {
		return nil, nil
	}
	if len(ttl) > 1 {
		return nil, fmt.Errorf("state %q: more than one TTL", name)
	}
	if err := ttl[0].check(); err != nil {
		return nil, fmt.Errorf("state %q: %w", name, err)
	}
	e := &expiry{ctx: ctx, ttl: ttl[0], after: ttl[0].After.Milliseconds(), drop: drop}
	e.grain = max(1, e.after/16)
	if !ctx.times.set {
		ctx.times = times{set: true, event: stream.MinTime, watermark: stream.MinTime}
	}
	if e.ttl.Time == TTLProcessingTime {
		name += " clock" // times of the other kind mean nothing to it: a change is refused, not misread
	}
	var err error
	if e.until, err = NewValue[int64](ctx, name+" until", nil); err != nil {
		return nil, err
	}
	e.due, err = NewTimers(ctx, name+" due")
	return e, err
}

// now is the time that entries are dated by and expire at; past is the time that no event is before any more.
func (e *expiry) now() (now, past int64) {
	if e.ttl.Time == TTLProcessingTime {
		now = e.ctx.Now()
		return now, now
	}
	t := &e.ctx.times
	return max(t.event, t.watermark), t.watermark
}

// enter is called before the current key's entry is used: what has expired goes. A nil expiry does nothing.
func (e *expiry) enter() error {
	if e == nil || e.busy {
		return nil
	}
	now, past := e.now()
	if err := e.clean(past); err != nil {
		return err
	}
	until, ok, err := e.until.Get()
	if err != nil || !ok || until > now {
		return err
	}
	return e.expire()
}

// leave is called after the current key's entry was read or written, if it exists then.
func (e *expiry) leave(exists, written bool) error {
	if e == nil || e.busy || !exists {
		return nil
	}
	if !written && e.ttl.Refresh == TTLOnWrite {
		if _, dated, err := e.until.Get(); err != nil || dated {
			return err
		}
	}
	at, _ := e.now()
	if e.ttl.Time == TTLEventTime {
		if e.ctx.times.event != stream.MinTime {
			at = e.ctx.times.event
		}
		if at == stream.MinTime {
			return nil // a processing-time timer before there is an event time: the entry gets its date when it is used next
		}
	}
	until := addTime(at, e.after)
	was, ok, err := e.until.Get()
	switch {
	case err != nil:
		return err
	case ok && was >= until:
		return nil
	case !ok:
		if err := e.due.Add(e.round(until), 0); err != nil {
			return err
		}
	}
	return e.until.Put(until)
}

// emptied is called after an entry was deleted. Its timer finds nothing when it comes.
func (e *expiry) emptied() error {
	if e == nil || e.busy {
		return nil
	}
	return e.until.Delete()
}

// expire deletes the current key's entry.
func (e *expiry) expire() error {
	e.busy = true
	err := e.drop()
	e.busy = false
	return errors.Join(err, e.until.Delete())
}

// clean deletes a few entries that expired at or before past.
func (e *expiry) clean(past int64) error {
	if e.due.Next() > past {
		return nil
	}
	current := e.ctx.key
	defer func() { e.ctx.key = current }()
	for range cleanedAtOnce {
		group, key, _, _, ok := e.due.Pop(past)
		if !ok {
			return nil
		}
		e.ctx.SetKey(group, key)
		until, ok, err := e.until.Get()
		switch {
		case err != nil:
			return err
		case !ok:
		case until <= past:
			err = e.expire()
		default:
			err = e.due.Add(e.round(until), 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *expiry) round(until int64) int64 {
	r := until % e.grain
	if r < 0 {
		r += e.grain
	}
	if r == 0 {
		return until
	}
	return addTime(until, e.grain-r)
}

package operators

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/weirstream/weir/stream"
)

// sessionWindows serves [Session]. A session is known by its start, which rarely changes: an event that makes it longer
// costs one read and one write of its state and leaves the timer where it is. A session that has state has a timer, its
// namespace the start, not later than the next time that something is due: fire, at its last millisecond, or drop,
// lateness after that.
type sessionWindows[In, Acc, Out any] struct {
	windowBase[In, Acc, Out]
	sessions *Window[session[Acc]]
	// starts are the starts of the key's sessions, ascending. Sessions of a key neither overlap nor touch. The slice is
	// replaced and never changed.
	starts *Value[[]int64]
	timers *Timers
}

// session is the state of one session. It says whether the session has fired for the reason that pane gives.
type session[Acc any] struct {
	end   int64
	acc   Acc
	fired bool
}

func (o *sessionWindows[In, Acc, Out]) Open(ctx *Context) (err error) {
	codec := sessionCodec[Acc]{paneCodec[Acc]{typed(o.agg.Codec, o.windows.text)}}
	if o.sessions, err = NewWindow[session[Acc]](ctx, "sessions", codec); err != nil {
		return err
	}
	if o.starts, err = NewValue[[]int64](ctx, "starts", nil); err != nil {
		return err
	}
	o.timers, err = NewTimers(ctx, "timers")
	o.open(ctx)
	return err
}

func (o *sessionWindows[In, Acc, Out]) Process(ev *stream.Event[In], emit stream.Emit[Out]) error {
	setKey(o.ctx, ev)
	start, end := ev.Timestamp, addTime(ev.Timestamp, o.windows.size)
	starts, _, err := o.starts.Get()
	if err != nil {
		return err
	}
	first, last, merged, err := o.overlapping(starts, start, end)
	if err != nil {
		return err
	}
	exists := first < last
	if !exists && o.dropAt(end) <= o.watermark {
		return o.tooLate(ev)
	}
	next, armed := session[Acc]{end: end}, false
	if exists {
		start, next.end = min(start, starts[first]), max(end, merged.end)
	}
	next.fired = o.fireAt(next.end) <= o.watermark || exists && next.end == merged.end && merged.fired
	if exists {
		// The first session's timer stands for the new one, but if it waits for the drop of what is to fire once more.
		armed = start == starts[first] && (!merged.firstFired || next.fired)
	}
	if last-first != 1 || start != starts[first] {
		if err := o.replace(starts, first, last, start); err != nil {
			return err
		}
	}
	if next.acc, err = o.agg.add(merged.acc, exists, ev.Value); err != nil {
		return err
	}
	if err := o.sessions.Put(start, next); err != nil {
		return err
	}
	if !armed {
		if err := o.arm(start, next); err != nil {
			return err
		}
	}
	if next.fired {
		return o.fire(start, next.end, o.ctx.Key(), next.acc, emit)
	}
	return nil
}

type mergedSession[Acc any] struct {
	session[Acc]      // fired is the last one's
	firstFired   bool // the first one's
}

// overlapping finds the sessions first to last (excluded) of starts that overlap or touch the one of a new event, and
// merges them.
func (o *sessionWindows[In, Acc, Out]) overlapping(starts []int64, start, end int64) (first, last int, m mergedSession[Acc], err error) {
	last = sort.Search(len(starts), func(i int) bool { return starts[i] > end })
	for first = last; first > 0; first-- {
		s, ok, err := o.sessions.Get(starts[first-1])
		if err != nil {
			return 0, 0, m, err
		}
		if !ok {
			return 0, 0, m, errPane
		}
		if s.end < start {
			break
		}
		if first == last {
			m.session = s
		} else if m.acc, err = o.agg.Merge(s.acc, m.acc); err != nil {
			return 0, 0, m, err
		}
		m.firstFired = s.fired
	}
	return first, last, m, nil
}

// replace puts one start in the place of those from first to last, and deletes the sessions that began there.
func (o *sessionWindows[In, Acc, Out]) replace(starts []int64, first, last int, start int64) error {
	for _, s := range starts[first:last] {
		if s != start {
			if err := o.sessions.Delete(s); err != nil {
				return err
			}
		}
	}
	return o.starts.Put(slices.Concat(starts[:first], []int64{start}, starts[last:]))
}

// arm sets the timer of a session of the current key for what is due.
func (o *sessionWindows[In, Acc, Out]) arm(start int64, s session[Acc]) error {
	if s.fired {
		return o.timers.Add(o.dropAt(s.end), start)
	}
	return o.timers.Add(o.fireAt(s.end), start)
}

// OnWatermark fires and drops what is due, in order of time, then key.
func (o *sessionWindows[In, Acc, Out]) OnWatermark(watermark int64, emit stream.Emit[Out]) error {
	if watermark <= o.watermark {
		return nil
	}
	o.watermark = watermark
	for {
		group, key, ts, start, ok := o.timers.Pop(watermark)
		if !ok {
			return nil
		}
		o.ctx.SetKey(group, key)
		if err := o.onTimer(ts, start, emit); err != nil {
			return err
		}
	}
}

// onTimer does what a session's timer of time ts asks for: it fires or drops the session, or sets the timer to what is due
// later. A timer may be too early, since a session leaves it behind when it grows.
func (o *sessionWindows[In, Acc, Out]) onTimer(ts, start int64, emit stream.Emit[Out]) error {
	s, ok, err := o.sessions.Get(start)
	if err != nil || !ok {
		return err // no such session any more: it was merged into one that begins earlier
	}
	due := o.fireAt(s.end)
	if s.fired {
		due = o.dropAt(s.end)
	}
	if ts < due {
		return o.timers.Add(due, start)
	}
	if !s.fired {
		if err := o.fire(start, s.end, o.ctx.Key(), s.acc, emit); err != nil {
			return err
		}
		if o.lateness > 0 {
			s.fired = true
			if err := o.arm(start, s); err != nil {
				return err
			}
			return o.sessions.Put(start, s)
		}
	}
	return o.drop(start)
}

// drop deletes a session of the current key.
func (o *sessionWindows[In, Acc, Out]) drop(start int64) error {
	if err := o.sessions.Delete(start); err != nil {
		return err
	}
	starts, _, err := o.starts.Get()
	if err != nil {
		return err
	}
	if len(starts) == 1 {
		return o.starts.Delete()
	}
	i := slices.Index(starts, start)
	return o.starts.Put(slices.Concat(starts[:i], starts[i+1:]))
}

// sessionCodec writes a session's end (8 bytes, big endian) and then what paneCodec writes.
type sessionCodec[Acc any] struct{ pane paneCodec[Acc] }

func (c sessionCodec[Acc]) Type() string { return c.pane.Type() }
func (c sessionCodec[Acc]) Version() int { return c.pane.Version() }

func (c sessionCodec[Acc]) Append(dst []byte, s session[Acc]) ([]byte, error) {
	return c.pane.Append(binary.BigEndian.AppendUint64(dst, uint64(s.end)), pane[Acc]{s.acc, s.fired})
}

func (c sessionCodec[Acc]) Decode(b []byte) (s session[Acc], err error) {
	if len(b) < 8 {
		return s, errPane
	}
	p, err := c.pane.Decode(b[8:])
	return session[Acc]{int64(binary.BigEndian.Uint64(b)), p.acc, p.fired}, err
}

package operators

import (
	"errors"
	"slices"

	"github.com/weirstream/weir/stream"
)

// fixedWindows serves [Tumbling] and [Hopping]: a window is known by its start.
type fixedWindows[In, Acc, Out any] struct {
	windowBase[In, Acc, Out]
	panes *Window[pane[Acc]]
	// queue has each pane: at the time it fires, or, if it has, at the time it is dropped.
	queue paneQueue[pane[Acc]]
	keys  keyCopies
	// near is the start of the window that was last asked for: most events fall into it.
	near int64
}

// pane is the state of one window of one key. Whether it has fired is part of it, since the watermark alone would not
// tell after a restore: that of an operator is the least of its subtasks'.
type pane[Acc any] struct {
	acc   Acc
	fired bool
}

func (o *fixedWindows[In, Acc, Out]) Open(ctx *Context) (err error) {
	codec := paneCodec[Acc]{typed(o.agg.Codec, o.windows.text)}
	if o.panes, err = NewWindow[pane[Acc]](ctx, "panes", codec); err != nil {
		return err
	}
	o.queue.init()
	o.near = o.windows.lastStart(0)
	ctx.tables[len(ctx.tables)-1] = &paneTable[Acc]{o.panes, &o.queue}
	o.panes.evicting = o.evicting
	o.open(ctx)
	return ctx.Store.ScanState(ctx.Groups, o.panes.id, func(group stream.KeyGroup, key string, space, value []byte) error {
		fired, err := codec.fired(value)
		if err != nil || len(space) != 8 {
			return errors.Join(err, errPane)
		}
		start := intOf(space)
		o.queue.pushCold(o.due(start, fired), group, key, start)
		return nil
	})
}

func (o *fixedWindows[In, Acc, Out]) end(start int64) int64 { return addTime(start, o.windows.size) }

// due is when something is to happen to a pane: when it fires, or, if it has, when it is dropped.
func (o *fixedWindows[In, Acc, Out]) due(start int64, fired bool) int64 {
	if fired {
		return o.dropAt(o.end(start))
	}
	return o.fireAt(o.end(start))
}

// evicting gives the queue a pane's name when its cell goes, unless it has it since the cell came from the store.
func (o *fixedWindows[In, Acc, Out]) evicting(c *cell[pane[Acc]]) {
	if c.flags&flagLoaded == 0 {
		start := startOf(c)
		o.queue.pushCold(o.due(start, c.v[c.epoch&1].fired), c.group, c.key(), start)
	}
}

// Prefetch implements [Prefetcher], for the last window of each event.
func (o *fixedWindows[In, Acc, Out]) Prefetch(events []stream.Event[In]) {
	var hashes [PrefetchMost]uint32
	for i := range events {
		hashes[i] = mixed(hashOf(&events[i]), o.lastStart(events[i].Timestamp))
	}
	o.panes.prefetch(hashes[:len(events)])
}

// lastStart is the start of the last window that may hold ts.
func (o *fixedWindows[In, Acc, Out]) lastStart(ts int64) int64 {
	if ts < o.near || uint64(ts-o.near) >= uint64(o.windows.slide) {
		o.near = o.windows.lastStart(ts)
	}
	return o.near
}

func (o *fixedWindows[In, Acc, Out]) Process(ev *stream.Event[In], emit stream.Emit[Out]) error {
	setKey(o.ctx, ev)
	ts := ev.Timestamp
	windows, taken := 0, 0
	for start := o.lastStart(ts); start > ts-o.windows.size; start = subTime(start, o.windows.slide) {
		windows++
		if o.dropAt(o.end(start)) <= o.watermark {
			continue
		}
		taken++
		if err := o.add(start, ev.Value, emit); err != nil {
			return err
		}
	}
	if windows > 0 && taken == 0 {
		return o.tooLate(ev)
	}
	return nil
}

// add takes a value into one window, which fires at once if it has fired or should have.
func (o *fixedWindows[In, Acc, Out]) add(start int64, v In, emit stream.Emit[Out]) error {
	name := o.panes.name(start)
	c, err := o.panes.find(name)
	if err != nil {
		return err
	}
	var p pane[Acc]
	exists := c != nil && c.state() == stLive
	if exists {
		p = c.v[c.epoch&1]
	}
	if p.acc, err = o.agg.add(p.acc, exists, v); err != nil {
		return err
	}
	end := o.end(start)
	if exists {
		o.panes.placed(c, o.panes.put(c, p))
	} else {
		p.fired = o.fireAt(end) <= o.watermark
		o.queue.push(o.due(start, p.fired), o.panes.set(name, p))
	}
	if !p.fired {
		return nil
	}
	return o.fire(start, end, o.ctx.Key(), p.acc, emit)
}

// OnWatermark fires and drops what is due, in order of time. What is due at one time comes in the order of sortFew.
func (o *fixedWindows[In, Acc, Out]) OnWatermark(watermark int64, emit stream.Emit[Out]) error {
	if watermark <= o.watermark {
		return nil
	}
	o.watermark = watermark
	for {
		ts, refs, ok := o.queue.pop(watermark)
		if !ok {
			return nil
		}
		sortFew(*refs)
		for some := range slices.Chunk(*refs, PrefetchMost) {
			var cells [PrefetchMost]*cell[pane[Acc]]
			for i := range some {
				cells[i] = some[i].c
			}
			o.panes.prefetchCells(cells[:len(some)])
			for _, ref := range some {
				if err := o.onDue(ts, ref, emit); err != nil {
					return err
				}
			}
		}
		o.queue.done(refs)
	}
}

// onDue fires a pane, or drops it if it has fired or has no lateness to wait for.
func (o *fixedWindows[In, Acc, Out]) onDue(ts int64, ref paneRef[pane[Acc]], emit stream.Emit[Out]) error {
	c, err := o.cellOf(ts, ref)
	if c == nil {
		return err
	}
	c.flags &^= flagLoaded // its place in the queue is taken
	if p := c.v[c.epoch&1]; !p.fired {
		start, key := startOf(c), o.keys.copy(c.key())
		o.ctx.key = currentKey{group: c.group, key: key} // no state is looked up: its hash is not needed here
		if err := o.fire(start, o.end(start), key, p.acc, emit); err != nil {
			return err
		}
		if o.lateness > 0 {
			p.fired = true
			o.queue.push(o.due(start, true), o.panes.placed(c, o.panes.put(c, p)))
			return nil
		}
	}
	o.panes.bury(c)
	return nil
}

// cellOf returns the cell of a pane that is due; nil if the queue has the pane once more.
func (o *fixedWindows[In, Acc, Out]) cellOf(ts int64, ref paneRef[pane[Acc]]) (*cell[pane[Acc]], error) {
	c := ref.c
	switch {
	case c == nil:
		o.ctx.SetKey(ref.cold.group, ref.cold.key)
		var err error
		if c, err = o.panes.find(o.panes.name(ref.cold.start)); err != nil {
			return nil, err
		}
	case c.state() != stLive:
		return nil, nil // it was evicted, and the queue was told
	case o.due(startOf(c), c.v[c.epoch&1].fired) != ts:
		return nil, nil // the same, and the cell has another pane now
	case c.flags&flagGone != 0:
		c = o.panes.index.find(c.hash, c.name())
	}
	if c == nil || c.state() != stLive {
		return nil, errPane
	}
	return c, nil
}

var errPane = errors.New("windows: the state of a pane is missing or broken")

// paneTable counts the queue as part of the state.
type paneTable[Acc any] struct {
	*Window[pane[Acc]]
	queue *paneQueue[pane[Acc]]
}

func (t *paneTable[Acc]) Bytes() int64 { return t.Window.Bytes() + t.queue.bytes }

// paneCodec writes whether a pane has fired (1 byte, 0 or 1) and then its accumulator.
type paneCodec[Acc any] struct{ acc Codec[Acc] }

func (c paneCodec[Acc]) Type() string { return c.acc.Type() }
func (c paneCodec[Acc]) Version() int { return c.acc.Version() }

func (c paneCodec[Acc]) Append(dst []byte, p pane[Acc]) ([]byte, error) {
	fired := byte(0)
	if p.fired {
		fired = 1
	}
	return c.acc.Append(append(dst, fired), p.acc)
}

func (c paneCodec[Acc]) Decode(b []byte) (p pane[Acc], err error) {
	if p.fired, err = c.fired(b); err != nil {
		return p, err
	}
	p.acc, err = c.acc.Decode(b[1:])
	return p, err
}

func (paneCodec[Acc]) fired(b []byte) (bool, error) {
	if len(b) == 0 || b[0] > 1 {
		return false, errPane
	}
	return b[0] == 1, nil
}

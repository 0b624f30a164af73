package operators

import (
	"slices"
	"strings"

	"github.com/weirstream/weir/stream"
)

// waiting is the events of one input of a join that wait for partners: for each key and span of time the bunches of the
// events that fall into it. What is asked for is mostly not there, so to find that out costs one look into the index; the
// store is asked only if it has something of the same span that is not in memory. The events of a span go together.
type waiting[V any] struct {
	*Window[bunch[V]]
	// kept is how long after its time an event is kept, and slack how much longer at most, unless a later one of its span and
	// key is. Milliseconds; kept may be negative.
	kept, slack int64
	grain       uint8
	// queue has the first bunch of each span at the time at which it goes, and some at earlier times too.
	queue paneQueue[bunch[V]]
	// cold is how many first bunches of each span are in the store only, by their namespace. Zeros are left out.
	cold map[int64]int
	// older are the spans that are left of jobs with intervals of other lengths.
	older []olderSpans
}

// olderSpans are spans of another grain than the job's, from one to another, with so many first bunches left.
type olderSpans struct {
	grain    uint8
	from, to int64
	left     int
}

func newWaiting[V any](ctx *Context, name string, kept, length int64, codec Codec[V]) (w *waiting[V], err error) {
	if codec == nil {
		codec = CBOR[V](1)
	}
	w = &waiting[V]{kept: kept, slack: max(1, length/8), grain: grainFor(length), cold: make(map[int64]int)}
	bunches := bunchCodec[V]{codec}
	if w.Window, err = NewWindow[bunch[V]](ctx, name, bunches); err != nil {
		return nil, err
	}
	ctx.tables[len(ctx.tables)-1] = w
	w.queue.init()
	w.evicting = w.leaves
	return w, ctx.Store.ScanState(ctx.Groups, w.id, func(group stream.KeyGroup, key string, space, value []byte) error {
		newest, err := bunches.newest(value)
		if err != nil || len(space) != 8 {
			return errBunch
		}
		if place := intOf(space); bunchIn(place) == 0 {
			w.restored(place)
			w.cold[place]++
			w.queue.pushCold(w.due(newest), group, key, place)
		}
		return nil
	})
}

// restored takes note of a first bunch of the store.
func (w *waiting[V]) restored(place int64) {
	grain, span := grainOf(place), spanIn(place)
	if grain == w.grain {
		return
	}
	i := slices.IndexFunc(w.older, func(o olderSpans) bool { return o.grain == grain })
	if i < 0 {
		i, w.older = len(w.older), append(w.older, olderSpans{grain, span, span, 0})
	}
	o := &w.older[i]
	o.from, o.to, o.left = min(o.from, span), max(o.to, span), o.left+1
}

// leaves is told of a bunch that leaves the memory. The queue gets its name, unless it has that since the bunch came from the
// store.
func (w *waiting[V]) leaves(c *cell[bunch[V]]) {
	place := startOf(c)
	if bunchIn(place) > 0 {
		return
	}
	w.cold[place]++
	if c.flags&flagLoaded == 0 {
		w.queue.pushCold(w.due(c.v[c.epoch&1].newest), c.group, c.key(), place)
	}
}

// goes is when an event's last partner may have come: the watermark that lets it go.
func (w *waiting[V]) goes(ts int64) int64 { return move(move(ts, w.kept), 1) }

// due is the first multiple of slack at which an event may go: so there are few different times.
func (w *waiting[V]) due(ts int64) int64 {
	t := w.goes(ts)
	r := t % w.slack
	if r < 0 {
		r += w.slack
	}
	if r > 0 {
		t = addTime(t, w.slack-r)
	}
	return t
}

// begins returns the first bunch of a span and the current key, nil if there is none. It may be a deleted one.
func (w *waiting[V]) begins(name entryName, place int64) (*cell[bunch[V]], error) {
	if len(w.cold) == 0 || w.cold[place] == 0 {
		c := w.index.find(name.hash, name.text)
		if c != nil {
			c.flags |= flagHot
		}
		return c, nil
	}
	before := w.live
	c, err := w.find(name)
	if w.live > before { // it was read from the store
		if w.cold[place]--; w.cold[place] == 0 {
			delete(w.cold, place)
		}
	}
	return c, err
}

// goesOn returns a further bunch of a span of the current key; not to have it is an error.
func (w *waiting[V]) goesOn(place int64, number uint16) (*cell[bunch[V]], error) {
	c, err := w.find(w.name(place | int64(number)))
	if err == nil && (c == nil || c.state() != stLive) {
		err = errBunch
	}
	return c, err
}

// each calls fn for the events of the current key from one time to another, both included.
func (w *waiting[V]) each(from, to int64, fn func(ts int64, v V) error) error {
	for _, o := range w.older {
		if err := w.eachOf(o.grain, max(spanOf(from, o.grain), o.from), min(spanOf(to, o.grain), o.to), from, to, fn); err != nil {
			return err
		}
	}
	return w.eachOf(w.grain, spanOf(from, w.grain), spanOf(to, w.grain), from, to, fn)
}

// eachOf is each for the spans of one grain from first to last.
func (w *waiting[V]) eachOf(grain uint8, first, last, from, to int64, fn func(ts int64, v V) error) error {
	for span := first; span <= last; span++ {
		place := placeOf(grain, span)
		c, err := w.begins(w.name(place), place)
		if err != nil {
			return err
		}
		if c == nil || c.state() != stLive {
			continue
		}
		b := &c.v[c.epoch&1]
		if err := b.each(from, to, fn); err != nil {
			return err
		}
		for number := 1; number <= int(b.last); number++ {
			if c, err = w.goesOn(place, uint16(number)); err != nil {
				return err
			}
			if err := c.v[c.epoch&1].each(from, to, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// add keeps an event of the current key, if partners of it may come.
func (w *waiting[V]) add(ts int64, v V, watermark int64) error {
	if w.goes(ts) <= watermark {
		return nil
	}
	place := placeOf(w.grain, spanOf(ts, w.grain))
	name := w.name(place)
	c, err := w.begins(name, place)
	if err != nil {
		return err
	}
	if c == nil || c.state() != stLive {
		c = w.begin(c, name, bunch[V]{first: placed[V]{ts, v}, newest: ts})
		w.queue.push(w.due(ts), c)
		return nil
	}
	b := c.v[c.epoch&1]
	newest, changed := ts, true
	if !b.full() {
		b.others = append(b.others, placed[V]{ts, v})
	} else {
		// Rounded up, so that the many events of a busy key do not change its first bunch one by one.
		newest = max(ts, move(move(w.due(ts), -1), -w.kept))
		if changed, err = w.addFurther(place, b.last, placed[V]{ts, v}); err != nil {
			return err
		}
		if changed {
			b.last++
		}
	}
	was := b.newest
	if ts > was {
		b.newest, changed = newest, true
	}
	if !changed {
		return nil
	}
	c = w.placed(c, w.put(c, b))
	if due := w.due(b.newest); due != w.due(was) {
		c.flags &^= flagLoaded // the queue has its cell now
		w.queue.push(due, c)
	}
	return nil
}

// addFurther adds an event to the last bunch of a span whose first one is full, or begins another, which it reports.
func (w *waiting[V]) addFurther(place int64, last uint16, e placed[V]) (begun bool, err error) {
	if last > 0 {
		c, err := w.goesOn(place, last)
		if err != nil {
			return false, err
		}
		if b := c.v[c.epoch&1]; !b.full() || last == lastBunch {
			b.others, b.newest = append(b.others, e), max(b.newest, e.ts)
			w.placed(c, w.put(c, b))
			return false, nil
		}
	}
	name := w.name(place | int64(last+1))
	w.begin(w.index.find(name.hash, name.text), name, bunch[V]{first: e, newest: e.ts})
	return true, nil
}

// begin makes a bunch of a name that is not in use. The cell is a deleted one of that name, or nil.
func (w *waiting[V]) begin(c *cell[bunch[V]], name entryName, b bunch[V]) *cell[bunch[V]] {
	if c == nil {
		w.sweep()
		c = w.insert(name, stAbsent)
	}
	c.flags &^= flagLoaded // that was what has been deleted
	return w.placed(c, w.put(c, b))
}

// expire lets the events go that cannot meet a partner any more.
func (w *waiting[V]) expire(watermark int64) error {
	for {
		due, refs, ok := w.queue.pop(watermark)
		if !ok {
			return nil
		}
		for some := range slices.Chunk(*refs, PrefetchMost) {
			var cells [PrefetchMost]*cell[bunch[V]]
			for i := range some {
				cells[i] = some[i].c
			}
			w.prefetchCells(cells[:len(some)])
			for _, ref := range some {
				if err := w.onDue(due, ref); err != nil {
					return err
				}
			}
		}
		w.queue.done(refs)
	}
}

// onDue deletes the bunches of a span, if that is due and has not been deleted yet.
func (w *waiting[V]) onDue(due int64, ref paneRef[bunch[V]]) error {
	c := ref.c
	if c == nil {
		w.ctx.SetKey(ref.cold.group, ref.cold.key)
		var err error
		if c, err = w.begins(w.name(ref.cold.start), ref.cold.start); err != nil {
			return err
		}
	}
	if c != nil && c.state() == stLive && c.flags&flagGone != 0 {
		c = w.index.find(c.hash, c.name())
	}
	// It may have become later meanwhile, or the cell may be in use for something else.
	if c == nil || c.state() != stLive || w.due(c.v[c.epoch&1].newest) != due || bunchIn(startOf(c)) > 0 {
		return nil
	}
	return w.drop(c)
}

// drop deletes the bunches of a span; the cell is that of the first.
func (w *waiting[V]) drop(c *cell[bunch[V]]) error {
	place := startOf(c)
	if last := int(c.v[c.epoch&1].last); last > 0 {
		w.ctx.SetKey(c.group, strings.Clone(c.key()))
		for number := 1; number <= last; number++ {
			further, err := w.goesOn(place, uint16(number))
			if err != nil {
				return err
			}
			w.bury(further)
		}
	}
	w.bury(c)
	w.gone(place)
	return nil
}

// gone takes note of a first bunch that is deleted.
func (w *waiting[V]) gone(place int64) {
	for i := range w.older {
		if o := &w.older[i]; o.grain == grainOf(place) {
			if o.left--; o.left == 0 {
				w.older = slices.Delete(w.older, i, i+1)
			}
			return
		}
	}
}

// Bytes implements [Table].
func (w *waiting[V]) Bytes() int64 { return w.Window.Bytes() + w.queue.bytes }

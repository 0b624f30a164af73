package operators

import (
	"fmt"
	"strings"

	"github.com/weirstream/weir/stream"
)

// cells is a table with one value for each key and namespace, looked up by the two written one after the other (the
// namespace has a fixed length). A key that is not in the map is as the store says: an entry leaves the map only when
// the store has all its changes.
type cells[V any] struct {
	journal[V]
	m   map[string]*cell[V]
	cur *cell[V] // the last one used
	// miss is the last name that the store did not have: a Put that follows need not ask again.
	miss   []byte
	missed bool
	// closed tables hold every entry in memory: the store is never asked.
	closed bool

	dead, unborn sweep[V]
}

func (t *cells[V]) init() { t.m = make(map[string]*cell[V]) }

// find returns the cell of a name, nil if there is no entry. The cell may be a deleted one.
func (t *cells[V]) find(full string, nsLen int, group stream.KeyGroup) (*cell[V], error) {
	if c := t.cur; c != nil && c.full == full {
		return c, nil
	}
	if c := t.m[full]; c != nil {
		c.flags |= flagHot
		t.cur = c
		return c, nil
	}
	if t.closed || t.store.Empty(t.id) {
		return nil, nil
	}
	if t.missed && string(t.miss) == full {
		return nil, nil
	}
	key, space := full[:len(full)-nsLen], full[len(full)-nsLen:]
	b, ok, err := t.store.Get(group, t.id, key, []byte(space))
	if err != nil {
		return nil, fmt.Errorf("state %q: key %q: %w", t.desc.Name, key, err)
	}
	if !ok {
		t.miss, t.missed = append(t.miss[:0], full...), true
		return nil, nil
	}
	v, err := t.codec.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("state %q: key %q: decoding: %w", t.desc.Name, key, err)
	}
	c := t.insert(full, nsLen, group, stLive)
	c.v[0] = v
	t.live++
	return c, nil
}

// insert adds a clean cell in the given state.
func (t *cells[V]) insert(full string, nsLen int, group stream.KeyGroup, st uint8) *cell[V] {
	c := &cell[V]{full: strings.Clone(full), nsLen: uint16(nsLen), group: group, st: [2]uint8{st, st}, flags: flagHot}
	t.m[c.full] = c
	t.kept += int64(len(c.full))
	t.cur, t.missed = c, false
	return c
}

func (t *cells[V]) get(full string, nsLen int, group stream.KeyGroup) (v V, ok bool, err error) {
	c, err := t.find(full, nsLen, group)
	if c == nil || c.state() != stLive {
		return v, false, err
	}
	return c.v[c.epoch&1], true, nil
}

func (t *cells[V]) set(full string, nsLen int, group stream.KeyGroup, v V) *cell[V] {
	c := t.cur
	if c == nil || c.full != full {
		if c = t.m[full]; c == nil {
			st := stUnknown
			if t.closed || t.missed && string(t.miss) == full || t.store.Empty(t.id) {
				st = stAbsent
			}
			t.sweep()
			c = t.insert(full, nsLen, group, st)
		}
		c.flags |= flagHot
		t.cur = c
	}
	n := t.put(c, v)
	if n != c {
		t.m[n.full], t.cur = n, n
	}
	return n
}

func (t *cells[V]) remove(full string, nsLen int, group stream.KeyGroup) error {
	c, err := t.find(full, nsLen, group)
	if c == nil || c.state() != stLive {
		return err
	}
	t.bury(c)
	return nil
}

// bury deletes the value of a live cell and queues the cell to leave the map when nobody needs it any more.
func (t *cells[V]) bury(c *cell[V]) {
	t.sweep()
	n := t.kill(c)
	if n != c {
		t.m[n.full], t.cur = n, n
	}
	if n.flags&flagQueued == 0 {
		n.flags |= flagQueued
		if n.state() == stAbsent || t.closed {
			t.unborn.add(n)
		} else {
			t.dead.add(n)
		}
	}
}

// sweep drops a few deleted cells: the ones without a trace once their epoch is over, the others once the store has
// their deletion. Its cost is bounded, so that it can be called for every change.
func (t *cells[V]) sweep() {
	for range min(4, t.unborn.todo) {
		c := t.unborn.next()
		switch st := c.state(); {
		case st == stLive || c.flags&flagGone != 0:
			c.flags &^= flagQueued
		case c.epoch == t.epoch:
			t.unborn.add(c)
		case st == stDead && !t.closed:
			t.dead.add(c)
		default:
			t.forget(c)
		}
	}
	for range min(4, t.dead.todo) {
		c := t.dead.next()
		switch {
		case c.state() == stLive || c.flags&flagGone != 0:
			c.flags &^= flagQueued
		case c.epoch > t.applied:
			t.dead.add(c)
		default:
			t.forget(c)
		}
	}
}

func (t *cells[V]) forget(c *cell[V]) {
	delete(t.m, c.full)
	t.kept -= int64(len(c.full))
	if t.cur == c {
		t.cur = nil
	}
}

// Freeze implements [Table].
func (t *cells[V]) Freeze(checkpoint int64) Frozen {
	f := t.journal.Freeze(checkpoint)
	if f != nil {
		t.unborn.todo = t.unborn.len()
	}
	if t.advance() {
		t.dead.todo = t.dead.len()
	}
	return f
}

// Bytes implements [Table].
func (t *cells[V]) Bytes() int64 { return t.kept + int64(len(t.m))*t.cellBytes() }

// Evict implements [Table]. The order of a Go map is random, and so is where it starts: it does for the hand of the CLOCK.
func (t *cells[V]) Evict(bytes int64) {
	if t.closed || t.Bytes() <= bytes {
		return
	}
	t.advance()
	t.missed = false
	for range 2 {
		for _, c := range t.m {
			if c.epoch > t.applied {
				continue
			}
			if c.flags&flagHot != 0 {
				c.flags &^= flagHot
				continue
			}
			if c.state() == stLive {
				t.live--
			}
			c.flags |= flagGone
			if t.forget(c); t.Bytes() <= bytes {
				return
			}
		}
	}
}

// sweep is a queue of deleted cells, of which the first todo are worth a look.
type sweep[V any] struct {
	cells []*cell[V]
	head  int
	todo  int
}

func (s *sweep[V]) len() int       { return len(s.cells) - s.head }
func (s *sweep[V]) add(c *cell[V]) { s.cells = append(s.cells, c) }
func (s *sweep[V]) next() (c *cell[V]) {
	c, s.cells[s.head] = s.cells[s.head], nil
	s.head++
	s.todo--
	if s.head > 1024 && s.head > len(s.cells)/2 {
		n := copy(s.cells, s.cells[s.head:])
		clear(s.cells[n:])
		s.cells, s.head = s.cells[:n], 0
	}
	return c
}

package operators

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/weirstream/weir/stream"
)

// cells is a table with one value for each key and namespace, looked up by the two written one after the other (the
// namespace has a fixed length). A key that is not in the index is as the store says: an entry leaves the index only when
// the store has all its changes, or when it ended in a deletion and the store has nothing of it and never will.
type cells[V any] struct {
	journal[V]
	index index[V]
	cur   *cell[V] // the last one used
	// miss is the last name that the store did not have: a Put that follows need not ask again.
	miss   []byte
	missed bool
	// closed tables hold every entry in memory: the store is never asked, and others may keep pointers to their cells.
	closed bool
	// evicting, if set, is told of a cell with a value that is about to leave.
	evicting func(*cell[V])
	// hand is where the next eviction goes on (CLOCK).
	hand    hand
	fetched uint32 // keeps what prefetch reads from being optimized away
	// spare are cells that nobody refers to, at most maxSpare, or after an eviction fewSpare until the next checkpoint.
	spare   []*cell[V]
	evicted bool

	dead, closing sweep[V]
	owed          int // looks at dead that changes have paid for
}

// entryName is the name of an entry: its key and its namespace of nsLen bytes. The text is borrowed.
type entryName struct {
	text  string
	nsLen int
	hash  uint32
	group stream.KeyGroup
}

// mixed takes a number into a hash.
func mixed(hash uint32, n int64) uint32 {
	// The multiplier is that of Fibonacci hashing (Knuth, volume 3, 6.4); both halves of the product are used.
	hi, lo := bits.Mul64(uint64(n)^uint64(hash)<<32^uint64(hash), 0x9e3779b97f4a7c15)
	x := hi ^ lo
	return uint32(x ^ x>>32)
}

func (t *cells[V]) init() { t.index.init() }

// find returns the cell of a name, nil if there is no entry. The cell may be a deleted one.
func (t *cells[V]) find(name entryName) (*cell[V], error) {
	if c := t.cur; c != nil && c.hash == name.hash && c.name() == name.text {
		return c, nil
	}
	if c := t.index.find(name.hash, name.text); c != nil {
		c.flags |= flagHot
		t.cur = c
		return c, nil
	}
	if t.closed || t.store.Empty(t.id) {
		return nil, nil
	}
	if t.missed && string(t.miss) == name.text {
		return nil, nil
	}
	key, space := name.text[:len(name.text)-name.nsLen], name.text[len(name.text)-name.nsLen:]
	b, ok, err := t.store.Get(name.group, t.id, key, []byte(space))
	if err != nil {
		return nil, fmt.Errorf("state %q: key %q: %w", t.desc.Name, key, err)
	}
	if !ok {
		t.miss, t.missed = append(t.miss[:0], name.text...), true
		return nil, nil
	}
	v, err := t.codec.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("state %q: key %q: decoding: %w", t.desc.Name, key, err)
	}
	c := t.insert(name, stLive)
	c.flags |= flagLoaded
	c.v[0] = v
	t.live++
	return c, nil
}

// insert adds a clean cell in the given state.
func (t *cells[V]) insert(name entryName, st uint8) *cell[V] {
	var c *cell[V]
	if n := len(t.spare) - 1; n >= 0 {
		c, t.spare[n] = t.spare[n], nil
		t.spare = t.spare[:n]
	} else {
		c = new(cell[V])
	}
	c.setName(name.text, name.nsLen)
	c.hash, c.group, c.st, c.flags = name.hash, name.group, [2]uint8{st, st}, flagHot
	t.index.add(c)
	t.kept += c.outside()
	t.cur, t.missed = c, false
	return c
}

// prefetch reads what find will read of names with these hashes, at most [PrefetchMost].
func (t *cells[V]) prefetch(hashes []uint32) { t.fetched += t.index.prefetch(hashes) }

// prefetchCells reads what bury and sweep will need for these cells, nil and unused ones among them, as [Prefetcher] does.
func (t *cells[V]) prefetchCells(some []*cell[V]) {
	for _, c := range some {
		if c != nil {
			t.fetched += uint32(c.first(0)) + uint32(c.epoch) + c.hash + uint32(c.flags) // it has up to three cache lines
		}
	}
	for _, c := range some {
		if c != nil {
			slots := t.index.part(c.hash).slots
			t.fetched += slots[c.hash&uint32(len(slots)-1)].hash
			if c.epoch == t.epoch && int(c.at) < len(t.dirty) && t.dirty[c.at] == c {
				t.fetched++
			}
		}
	}
}

func (t *cells[V]) get(name entryName) (v V, ok bool, err error) {
	c, err := t.find(name)
	if c == nil || c.state() != stLive {
		return v, false, err
	}
	return c.v[c.epoch&1], true, nil
}

func (t *cells[V]) set(name entryName, v V) *cell[V] {
	c := t.cur
	if c == nil || c.hash != name.hash || c.name() != name.text {
		if c = t.index.find(name.hash, name.text); c == nil {
			st := stUnknown
			if t.closed || t.missed && string(t.miss) == name.text || t.store.Empty(t.id) {
				st = stAbsent
			}
			t.sweep()
			c = t.insert(name, st)
		}
		c.flags |= flagHot
		t.cur = c
	}
	return t.placed(c, t.put(c, v))
}

// placed puts n, what a change of c returned, in the place of c.
func (t *cells[V]) placed(c, n *cell[V]) *cell[V] {
	if n != c {
		t.index.replace(c, n)
		t.cur = n
	}
	return n
}

func (t *cells[V]) remove(name entryName) error {
	c, err := t.find(name)
	if c == nil || c.state() != stLive {
		return err
	}
	t.bury(c)
	return nil
}

// bury deletes the value of a live cell. One that came in this epoch is forgotten with all that it was, another is queued to
// leave when nobody needs it any more.
func (t *cells[V]) bury(c *cell[V]) {
	t.sweep()
	if c.epoch == t.epoch && c.flags&flagBorn != 0 && !t.closed {
		t.undo(c)
		t.live--
		t.index.remove(c)
		t.forget(c)
		return
	}
	n := t.placed(c, t.kill(c))
	if n.flags&flagQueued == 0 {
		n.flags |= flagQueued
		if t.closed {
			t.closing.add(n)
		} else {
			t.dead.add(n)
		}
	}
}

// forget ends a cell that has left the index: it is used again if nobody refers to it. No checkpoint does, since its last
// change is in the store or in a delta, or was undone.
func (t *cells[V]) forget(c *cell[V]) {
	t.kept -= c.outside()
	t.settled(c)
	if t.cur == c {
		t.cur = nil
	}
	if t.closed || c.flags&flagQueued != 0 {
		c.flags |= flagGone
		return
	}
	*c = cell[V]{}
	if n := len(t.spare); n < fewSpare || n < maxSpare && !t.evicted {
		t.spare = append(t.spare, c)
	}
}

// How many cells are kept for use.
const (
	maxSpare = 1 << 16
	fewSpare = 1 << 8
)

// Freeze implements [Table].
func (t *cells[V]) Freeze(checkpoint int64) Frozen {
	f := t.journal.Freeze(checkpoint)
	if f != nil {
		t.closing.todo = t.closing.len()
	}
	t.evicted = false
	t.advance()
	return f
}

// advance takes note of what the store has by now: then the deleted cells are worth a look.
func (t *cells[V]) advance() {
	if t.journal.advance() {
		t.dead.todo = t.dead.len()
	}
}

// Bytes implements [Table].
func (t *cells[V]) Bytes() int64 {
	spare := int64(len(t.spare)) * int64(unsafe.Sizeof(cell[V]{}))
	return t.kept + t.index.bytes() + int64(t.index.n)*t.cellBytes() + spare + int64(cap(t.dirty))*8
}

// Evict implements [Table].
func (t *cells[V]) Evict(bytes int64, looks int) (stuck bool) {
	if t.Bytes() <= bytes {
		return false
	}
	if t.closed {
		return true
	}
	t.evicted = true
	if len(t.spare) > fewSpare {
		t.spare = slices.Clone(t.spare[:fewSpare])
	}
	t.advance()
	t.missed = false
	over := t.Bytes() - bytes
	for over > 0 && looks > 0 && t.index.n > t.unapplied() {
		looks -= t.index.walk(&t.hand, min(looks, t.index.slots), func(c *cell[V]) (leave, more bool) {
			switch {
			case c.epoch > t.applied:
				return false, true
			case c.flags&flagHot != 0:
				c.flags &^= flagHot
				return false, true
			}
			if c.state() == stLive {
				t.live--
				if t.evicting != nil {
					t.evicting(c)
				}
			}
			c.st = [2]uint8{stAbsent, stAbsent}
			over -= t.cellBytes() + c.outside()
			t.forget(c)
			return true, over > 0
		})
	}
	return over > 0 && t.index.n-t.unapplied() <= t.index.n/16
}

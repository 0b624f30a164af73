package pebblestate

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// changes is the last change of each key of some deltas, in order of key. It points into them, with 32 bytes a change.
type changes struct {
	reprs   [][]byte
	entries []entry
}

// entry is a change: the beginning of its key, which ends most comparisons without a way to the key itself, somewhere in
// memory; and where it begins, a delta and a place in it.
type entry struct {
	hi, lo    uint64
	size      uint32 // of the whole key
	delta, at uint32
}

func entryOf(key []byte) entry {
	var b [16]byte
	copy(b[:], key)
	return entry{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:]), size: uint32(len(key))}
}

// beginning is hi and lo of the entry of a key of size bytes at the front of b. It is quicker if more bytes follow.
func beginning(b []byte, size int) (hi, lo uint64) {
	if len(b) < 16 {
		e := entryOf(b[:size])
		return e.hi, e.lo
	}
	hi, lo = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	if size <= 8 {
		return hi & (math.MaxUint64 << (8 * (8 - size))), 0
	}
	return hi, lo & (math.MaxUint64 << (8 * max(16-size, 0)))
}

// compare orders two keys as bytes.Compare does, as far as their beginnings tell; sure is false if the rest has to.
func (x *entry) compare(y *entry) (order int, sure bool) {
	switch {
	case x.hi != y.hi:
		return cmp.Compare(x.hi, y.hi), true
	case x.lo != y.lo:
		return cmp.Compare(x.lo, y.lo), true
	case x.size <= 16 || y.size <= 16:
		return cmp.Compare(x.size, y.size), true // equal but for zeros at the end: the shorter one is less
	}
	return 0, false
}

func (c *changes) len() int { return len(c.entries) }

func (c *changes) at(i int) change { return c.change(&c.entries[i]) }

func (c *changes) change(e *entry) change {
	ch, _ := decodeChange(c.reprs[e.delta][e.at:]) // checked when the entries were made
	return ch
}

// lastChangesTable finds the last change of each key of the deltas, oldest first. It goes from the newest delta to the oldest and
// takes a key where it meets it first.
func lastChangesTable(reprs [][]byte) (*entryTable, error) {
	t := new(entryTable)
	return t, t.build(reprs)
}

// countChanges returns how many changes the greatest delta has, and how many all of them.
func countChanges(reprs [][]byte) (most, all int, err error) {
	for _, repr := range reprs {
		r, err := readDelta(repr)
		if err != nil {
			return 0, 0, err
		}
		n := int(min(r.left, uint32(len(repr))))
		most, all = max(most, n), all+n
	}
	return most, all, nil
}

// build fills the table with the last changes of its share of the keys.
func (t *entryTable) build(reprs [][]byte) error {
	most, all, err := countChanges(reprs)
	if err != nil {
		return err
	}
	most, all = most>>t.shareBits, all>>t.shareBits
	t.all = all
	// A table that is too large costs less than one that grows.
	t.slots = make([]uint64, 1<<bits.Len(uint(2*max(most, all/4)+1000)))
	t.c = &changes{reprs: reprs, entries: make([]entry, 0, max(most, all/4))}
	for d := len(reprs) - 1; d >= 0; d-- {
		if len(reprs[d]) > math.MaxUint32 {
			return fmt.Errorf("a delta of %d bytes is too large", len(reprs[d]))
		}
		r, err := readDelta(reprs[d])
		if err != nil {
			return err
		}
		if err := t.addAll(uint32(d), &r); err != nil {
			return err
		}
	}
	return nil
}

// compare orders two entries by key.
func (c *changes) compare(x, y *entry) int {
	if order, sure := x.compare(y); sure {
		return order
	}
	return bytes.Compare(c.change(x).key, c.change(y).key)
}

// sort sorts by key.
func (c *changes) sort() {
	slices.SortFunc(c.entries, func(x, y entry) int { return c.compare(&x, &y) })
}

// search returns the first change whose key is not less than key.
func (c *changes) search(key []byte) int {
	lo, hi := 0, len(c.entries)
	want := entryOf(key)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		order, sure := c.entries[mid].compare(&want)
		if !sure {
			order = bytes.Compare(c.at(mid).key, key)
		}
		if order < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// entryTable finds entries by key, as long as they are not sorted: open addressing by the upper half of the hash, which is in
// the upper half of a slot, so that a table grows without a look at the keys; 1 + the index of an entry is in the lower.
type entryTable struct {
	c     *changes
	slots []uint64
	// The table has only keys of which the hash begins with the shareBits bits of share.
	share     uint64
	shareBits uint8
	// take, if set, is asked whether a change that is the last one of its key is to be in the table.
	take func(change) (bool, error)
	// all is how many changes the table is built of, seen how many of them it has looked at.
	all, seen int
	// read keeps what is read ahead from being optimized away.
	read uint64
}

const upperHalf = math.MaxUint32 << 32

// addAll takes the changes of a delta, but for those of which a newer delta has one with the same key; inside one delta
// the later one counts. They come in blocks: what is needed of the table for all of a block is read before any of it is
// needed, so that the waits for memory overlap.
func (t *entryTable) addAll(delta uint32, r *deltaReader) error {
	var block [64]entry
	var hashes, found [64]uint64
	for {
		n := 0
		for n < len(block) {
			at, key, size, ok, err := r.skim()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if hash := xxhash.Sum64(r.repr[key : key+size]); hash>>(64-t.shareBits) == t.share {
				e := &block[n]
				e.hi, e.lo = beginning(r.repr[key:], size)
				e.size, e.delta, e.at = uint32(size), delta, uint32(at)
				hashes[n] = hash
				n++
			}
		}
		if n == 0 {
			return nil
		}
		// Nothing else is in these loops, so that the processor runs ahead of its memory.
		slots, entries, read := t.slots, t.c.entries, uint64(0)
		for i, hash := range hashes[:n] {
			found[i] = slots[hash>>32&uint64(len(slots)-1)]
		}
		for _, s := range found[:n] {
			if i := uint64(uint32(s)) - 1; i < uint64(len(entries)) {
				read += entries[i].hi
			}
		}
		t.read += read
		t.seen += n
		for i := range block[:n] {
			if err := t.add(hashes[i], &block[i]); err != nil {
				return err
			}
		}
	}
}

// get returns the change of a key.
func (t *entryTable) get(hash uint64, key []byte) (change, bool) {
	want := entryOf(key)
	if i, _ := t.find(hash, &want, key); i >= 0 {
		return t.c.at(i), true
	}
	return change{}, false
}

// add takes the change of an entry, unless a newer delta has one with the same key.
func (t *entryTable) add(hash uint64, e *entry) error {
	delta, at := e.delta, e.at
	i, slot := t.find(hash, e, nil)
	if i >= 0 {
		if old := &t.c.entries[i]; old.delta == delta {
			old.at = at
		}
		return nil
	}
	if t.take != nil {
		if ok, err := t.take(t.c.change(e)); !ok || err != nil {
			return err
		}
	}
	if len(t.c.entries) == cap(t.c.entries) {
		t.c.entries = slices.Grow(t.c.entries, t.more())
	}
	t.c.entries = append(t.c.entries, *e)
	t.slots[slot] = hash&upperHalf | uint64(len(t.c.entries))
	if 2*len(t.c.entries) > len(t.slots) {
		t.grow()
	}
	return nil
}

// find returns the index of the entry of a key, or -1 and the slot to put it into. Without a key it is that of want's change.
func (t *entryTable) find(hash uint64, want *entry, key []byte) (i int, slot uint64) {
	mask := uint64(len(t.slots) - 1)
	for slot = hash >> 32 & mask; ; slot = (slot + 1) & mask {
		s := t.slots[slot]
		if s == 0 {
			return -1, slot
		}
		if s&upperHalf != hash&upperHalf {
			continue
		}
		e := &t.c.entries[uint32(s)-1]
		if e.hi != want.hi || e.lo != want.lo || e.size != want.size {
			continue
		}
		if e.size > 16 {
			if key == nil {
				key = t.c.change(want).key
			}
			if !bytes.Equal(t.c.change(e).key, key) {
				continue
			}
		}
		return int(uint32(s)) - 1, slot
	}
}

// place puts an entry that the table does not have into it.
func (t *entryTable) place(hash uint64, i int) {
	mask := uint64(len(t.slots) - 1)
	h := hash >> 32 & mask
	for t.slots[h] != 0 {
		h = (h + 1) & mask
	}
	t.slots[h] = hash&upperHalf | uint64(i+1)
}

// more is how many entries to make room for: as many as will come if the rest of the changes are like those so far. A slice
// that grows in small steps leaves several times its size behind as garbage, at a time at which there is little room.
func (t *entryTable) more() int {
	n, left := len(t.c.entries), t.all-t.seen
	likely := int(float64(left) * float64(n) / float64(max(1, t.seen)))
	return max(64, n/16, likely+likely/64)
}

func (t *entryTable) grow() {
	old := t.slots
	t.slots = make([]uint64, 2*len(old))
	for _, s := range old {
		if s != 0 {
			t.place(s, int(uint32(s))-1)
		}
	}
}

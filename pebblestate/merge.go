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

// changes is the last change of each key of some deltas. It points into them, with 32 bytes a change.
type changes struct {
	reprs [][]byte
	refs  []ref
	heads []head // of the keys, by index of refs
}

// head is the beginning of a key. Most comparisons end here, without a way to the key itself, which is somewhere in memory.
type head struct {
	hi, lo uint64
	size   int // of the whole key
}

func headOf(key []byte) head {
	var b [16]byte
	copy(b[:], key)
	return head{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]), len(key)}
}

// compare orders two keys as bytes.Compare does, as far as their heads tell; sure is false if the rest has to.
func (x head) compare(y head) (order int, sure bool) {
	if order = cmp.Or(cmp.Compare(x.hi, y.hi), cmp.Compare(x.lo, y.lo)); order != 0 {
		return order, true
	}
	if x.size <= 16 || y.size <= 16 {
		return cmp.Compare(x.size, y.size), true // equal but for zeros at the end: the shorter one is less
	}
	return 0, false
}

// ref is where a change begins: a delta, and a place in it.
type ref struct{ delta, at uint32 }

func (c *changes) len() int { return len(c.refs) }

func (c *changes) at(i int) change {
	r := c.refs[i]
	ch, _ := decodeChange(c.reprs[r.delta][r.at:]) // checked when the refs were made
	return ch
}

// lastChanges finds the last change of each key of the deltas, oldest first, and sorts by key. It goes from the newest
// delta to the oldest and takes a key where it meets it first, so that only what remains is sorted.
func lastChanges(reprs [][]byte) (*changes, error) {
	c := &changes{reprs: reprs}
	most := 0
	for _, repr := range reprs {
		r, err := readDelta(repr)
		if err != nil {
			return nil, err
		}
		most = max(most, int(min(r.left, uint32(len(repr)))))
	}
	table := newRefTable(c, most)
	for d := len(reprs) - 1; d >= 0; d-- {
		if len(reprs[d]) > math.MaxUint32 {
			return nil, fmt.Errorf("a delta of %d bytes is too large", len(reprs[d]))
		}
		r, err := readDelta(reprs[d])
		if err != nil {
			return nil, err
		}
		for {
			ch, at, ok, err := r.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			table.add(ch.key, ref{uint32(d), uint32(at)})
		}
	}
	c.sort()
	return c, nil
}

// sort sorts by key.
func (c *changes) sort() {
	type item struct {
		head head
		ref  ref
	}
	items := make([]item, len(c.refs))
	for i := range items {
		items[i] = item{c.heads[i], c.refs[i]}
	}
	key := func(r ref) []byte {
		ch, _ := decodeChange(c.reprs[r.delta][r.at:])
		return ch.key
	}
	slices.SortFunc(items, func(x, y item) int {
		if order, sure := x.head.compare(y.head); sure {
			return order
		}
		return bytes.Compare(key(x.ref), key(y.ref))
	})
	for i := range items {
		c.refs[i], c.heads[i] = items[i].ref, items[i].head
	}
}

// search returns the first change whose key is not less than key.
func (c *changes) search(key []byte) int {
	lo, hi := 0, len(c.refs)
	want := headOf(key)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		order, sure := c.heads[mid].compare(want)
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

// refTable finds the changes that have been taken, by key: open addressing over the refs, with the upper half of the hash
// in the upper half of a slot and 1 + the index of a ref in the lower.
type refTable struct {
	c     *changes
	slots []uint64
}

// newRefTable makes a table for about n keys.
func newRefTable(c *changes, n int) *refTable {
	return &refTable{c: c, slots: make([]uint64, 1<<bits.Len(uint(2*n+1000)))}
}

// add takes a change unless a newer delta has one of the same key; inside one delta the later one counts.
func (t *refTable) add(key []byte, r ref) {
	const upper = math.MaxUint32 << 32
	hash := xxhash.Sum64(key)
	mask := uint64(len(t.slots) - 1)
	h := hash & mask
	want := headOf(key)
	for ; t.slots[h] != 0; h = (h + 1) & mask {
		if t.slots[h]&upper != hash&upper {
			continue
		}
		i := uint32(t.slots[h]) - 1
		order, sure := t.c.heads[i].compare(want)
		if !sure {
			order = bytes.Compare(t.c.at(int(i)).key, key)
		}
		if order != 0 {
			continue
		}
		if old := &t.c.refs[i]; old.delta == r.delta {
			*old = r
		}
		return
	}
	t.c.refs, t.c.heads = append(t.c.refs, r), append(t.c.heads, want)
	t.slots[h] = hash&upper | uint64(len(t.c.refs))
	if 2*len(t.c.refs) > len(t.slots) {
		t.grow()
	}
}

func (t *refTable) grow() {
	old := t.slots
	t.slots = make([]uint64, 2*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		h := xxhash.Sum64(t.c.at(int(uint32(s)-1)).key) & mask
		for t.slots[h] != 0 {
			h = (h + 1) & mask
		}
		t.slots[h] = s
	}
}

package pebblestate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// changes is the last change of each key of some deltas. It points into them, with 8 bytes a change.
type changes struct {
	reprs [][]byte
	refs  []ref
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

// sort sorts by key. Sorting 16 bytes of each key beside its ref saves most of the way to the keys.
func (c *changes) sort() {
	type item struct {
		hi, lo uint64
		ref    ref
	}
	items := make([]item, len(c.refs))
	for i := range items {
		var head [16]byte
		copy(head[:], c.at(i).key)
		items[i] = item{binary.BigEndian.Uint64(head[:8]), binary.BigEndian.Uint64(head[8:]), c.refs[i]}
	}
	key := func(r ref) []byte {
		ch, _ := decodeChange(c.reprs[r.delta][r.at:])
		return ch.key
	}
	slices.SortFunc(items, func(x, y item) int {
		switch {
		case x.hi < y.hi:
			return -1
		case x.hi > y.hi:
			return 1
		case x.lo < y.lo:
			return -1
		case x.lo > y.lo:
			return 1
		}
		return bytes.Compare(key(x.ref), key(y.ref))
	})
	for i := range items {
		c.refs[i] = items[i].ref
	}
}

// search returns the first change whose key is not less than key.
func (c *changes) search(key []byte) int {
	lo, hi := 0, len(c.refs)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if bytes.Compare(c.at(mid).key, key) < 0 {
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
	for ; t.slots[h] != 0; h = (h + 1) & mask {
		if t.slots[h]&upper != hash&upper {
			continue
		}
		i := uint32(t.slots[h]) - 1
		if !bytes.Equal(t.c.at(int(i)).key, key) {
			continue
		}
		if old := &t.c.refs[i]; old.delta == r.delta {
			*old = r
		}
		return
	}
	t.c.refs = append(t.c.refs, r)
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

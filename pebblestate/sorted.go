package pebblestate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// sortAtOnce is how many changes are sorted at a time for a base, with 32 bytes for each: all of a large base would take more
// memory than its deltas do.
const sortAtOnce = 1 << 18

// lastInOrder calls fn with the last change of each key of the deltas, oldest first, in order of key: one range of key groups
// after the other, each with at most so many changes, or of one key group. If every change has a number, it leaves out the
// deletions of keys that absent says nobody has. What fn gets is valid during the call.
func lastInOrder(deltas []Delta, most int, absent func(key []byte) bool, fn func(*changes) error) error {
	l := lasting{deltas: deltas, absent: absent}
	var unknown int
	if l.table, unknown = lastDeltas(deltas); l.table == nil || unknown > 0 {
		l.absent = nil
	}
	counts, err := l.countByGroup()
	if err != nil {
		return err
	}
	c := &changes{reprs: reprsOf(deltas)}
	for first := 0; first < len(counts); {
		n, end := int(counts[first]), first+1
		for end < len(counts) && n+int(counts[end]) <= most {
			n += int(counts[end])
			end++
		}
		if n > 0 {
			c.entries = slices.Grow(c.entries[:0], n)
			if err := l.collect(c, first, end); err != nil {
				return err
			}
			c.sortLast()
			if err := fn(c); err != nil {
				return err
			}
		}
		first = end
	}
	return nil
}

// keyGroupOf is the key group of an encoded key.
func keyGroupOf(key []byte) int {
	if len(key) < 2 {
		return 0 // it is no key at all, and whoever splits it will say so
	}
	return int(binary.BigEndian.Uint16(key))
}

// lasting are deltas without those changes that a later one of the same cell follows, which is found out before anything is sorted.
type lasting struct {
	deltas []Delta
	table  *cellTable // nil if the cells are not known
	absent func(key []byte) bool
}

// each calls fn with where the changes of delta i and their keys are in it.
func (l *lasting) each(i int, fn func(at, key, size int)) error {
	d := &l.deltas[i]
	r, err := readDelta(d.Repr)
	if err != nil {
		return err
	}
	cells := cellReader{cells: &d.cells}
	for {
		at, key, size, ok, err := r.skim()
		if err != nil || !ok {
			return err
		}
		if cell := cells.next(); l.table == nil || cell == 0 || l.table.is(i, cell) {
			fn(at, key, size)
		}
	}
}

// countByGroup counts the changes of each key group.
func (l *lasting) countByGroup() ([]uint32, error) {
	counts := make([]uint32, 1<<16)
	for i := range l.deltas {
		repr := l.deltas[i].Repr
		if len(repr) > math.MaxUint32 {
			return nil, fmt.Errorf("a delta of %d bytes is too large", len(repr))
		}
		err := l.each(i, func(_, key, size int) { counts[keyGroupOf(repr[key:key+size])]++ })
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// collect adds the changes of the key groups from first to before end.
func (l *lasting) collect(c *changes, first, end int) error {
	for i := range l.deltas {
		repr := l.deltas[i].Repr
		err := l.each(i, func(at, key, size int) {
			name := repr[key : key+size]
			if g := keyGroupOf(name); g < first || g >= end {
				return
			}
			if l.absent != nil && repr[at] == kindDelete && l.absent(name) {
				return
			}
			e := entry{size: uint32(size), delta: uint32(i), at: uint32(at)}
			e.hi, e.lo = beginning(repr[key:], size)
			c.entries = append(c.entries, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sortLast sorts by key and keeps the last change of each.
func (c *changes) sortLast() {
	slices.SortFunc(c.entries, func(x, y entry) int {
		if o := c.compare(&x, &y); o != 0 {
			return o
		}
		return cmp.Or(cmp.Compare(y.delta, x.delta), cmp.Compare(y.at, x.at))
	})
	kept := 0
	for i := range c.entries {
		if kept == 0 || c.compare(&c.entries[kept-1], &c.entries[i]) != 0 {
			c.entries[kept] = c.entries[i]
			kept++
		}
	}
	c.entries = c.entries[:kept]
}

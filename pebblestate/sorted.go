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
// after the other, each with at most so many changes, or of one key group. What fn gets is valid during the call.
func lastInOrder(reprs [][]byte, most int, fn func(*changes) error) error {
	counts, err := countByGroup(reprs)
	if err != nil {
		return err
	}
	c := &changes{reprs: reprs}
	for first := 0; first < len(counts); {
		n, end := int(counts[first]), first+1
		for end < len(counts) && n+int(counts[end]) <= most {
			n += int(counts[end])
			end++
		}
		if n > 0 {
			c.entries = slices.Grow(c.entries[:0], n)
			if err := c.collect(first, end); err != nil {
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

// countByGroup counts the changes of each key group.
func countByGroup(reprs [][]byte) ([]uint32, error) {
	counts := make([]uint32, 1<<16)
	for _, repr := range reprs {
		if len(repr) > math.MaxUint32 {
			return nil, fmt.Errorf("a delta of %d bytes is too large", len(repr))
		}
		r, err := readDelta(repr)
		if err != nil {
			return nil, err
		}
		for {
			_, key, size, ok, err := r.skim()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			counts[keyGroupOf(repr[key:key+size])]++
		}
	}
	return counts, nil
}

// collect adds the changes of the key groups from first to before end.
func (c *changes) collect(first, end int) error {
	for d, repr := range c.reprs {
		r, err := readDelta(repr)
		if err != nil {
			return err
		}
		for {
			at, key, size, ok, err := r.skim()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if g := keyGroupOf(repr[key : key+size]); g < first || g >= end {
				continue
			}
			e := entry{size: uint32(size), delta: uint32(d), at: uint32(at)}
			e.hi, e.lo = beginning(repr[key:], size)
			c.entries = append(c.entries, e)
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

package pebblestate

import (
	"runtime"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"
)

// overlay is what was restored of deltas: entries are found by key at once, and sorted when somebody first scans. Keys are
// shared out to several tables by the first bits of their hash, so that several cores build them: this is most of what a
// recovery with many small deltas waits for.
type overlay struct {
	tables    []*entryTable
	shareBits uint8
	sorted    func() *changes
	// present are the states that have an entry.
	present []uint16
}

// manyChanges is from how many on more than one core builds the tables.
const manyChanges = 50_000

// newOverlay reads deltas, oldest first. Changes of keys that drops says are left out.
func newOverlay(reprs [][]byte, drops func(key []byte) bool) (*overlay, error) {
	o := &overlay{}
	_, all, err := countChanges(reprs)
	if err != nil {
		return nil, err
	}
	if all >= manyChanges {
		for 2<<o.shareBits <= min(runtime.GOMAXPROCS(0), 8) {
			o.shareBits++
		}
	}
	var g errgroup.Group
	seen := make([]map[uint16]bool, 1<<o.shareBits)
	for share := range seen {
		t := &entryTable{share: uint64(share), shareBits: o.shareBits}
		o.tables = append(o.tables, t)
		g.Go(func() error {
			last, first := uint16(0), true
			seen[share] = map[uint16]bool{}
			t.take = func(c change) (bool, error) {
				_, state, _, _, err := splitKey(c.key)
				if err != nil || drops != nil && drops(c.key) {
					return false, err
				}
				if !c.deleted && (first || state != last) {
					last, first = state, false
					seen[share][state] = true
				}
				return true, nil
			}
			return t.build(reprs)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, states := range seen {
		for state := range states {
			if !slices.Contains(o.present, state) {
				o.present = append(o.present, state)
			}
		}
	}
	o.sorted = sync.OnceValue(func() *changes {
		c := &changes{reprs: reprs, entries: make([]entry, 0, o.len())}
		for _, t := range o.tables {
			c.entries = append(c.entries, t.c.entries...)
		}
		c.sort()
		return c
	})
	return o, nil
}

// get returns the change of a key.
func (o *overlay) get(key []byte) (change, bool) {
	hash := xxhash.Sum64(key)
	return o.tables[hash>>(64-o.shareBits)].get(hash, key)
}

func (o *overlay) len() (n int) {
	for _, t := range o.tables {
		n += t.c.len()
	}
	return n
}

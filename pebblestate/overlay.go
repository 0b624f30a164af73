package pebblestate

import (
	"slices"
	"sync"
)

// overlay is what was restored of deltas: entries are found by key at once, and sorted when somebody first scans.
type overlay struct {
	table  *entryTable
	sorted func() *changes
}

// newOverlay reads deltas, oldest first.
func newOverlay(reprs [][]byte) (*overlay, error) {
	t, err := lastChangesTable(reprs)
	if err != nil {
		return nil, err
	}
	return &overlay{table: t, sorted: sync.OnceValue(func() *changes {
		c := &changes{reprs: reprs, entries: slices.Clone(t.c.entries)}
		c.sort()
		return c
	})}, nil
}

func (o *overlay) len() int { return o.table.c.len() }

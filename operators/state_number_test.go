package operators

import (
	"fmt"

	"github.com/weirstream/weir/stream"
)

// numberLedger holds tables to what a [CellWriter] is promised, and what merging of deltas rests on: a number is one entry's for
// ever, and an entry keeps its number while the store has not all that was written under it, unless that ends in a deletion.
type numberLedger struct {
	store  *modelStore
	owners map[uint64]string
	last   map[string]numberedChange
}

type numberedChange struct {
	number     uint64
	live       bool
	checkpoint int64
}

func newNumberLedger(store *modelStore) *numberLedger {
	return &numberLedger{store, map[uint64]string{}, map[string]numberedChange{}}
}

func (l *numberLedger) note(key string, c numberedChange) error {
	owner, known := l.owners[c.number]
	before := l.last[key]
	switch {
	case c.number == 0:
		return fmt.Errorf("checkpoint %d: %q has no number", c.checkpoint, key)
	case known && owner != key:
		return fmt.Errorf("checkpoint %d: %q has the number %d of %q", c.checkpoint, key, c.number, owner)
	case before.live && before.number != c.number && before.checkpoint > l.store.Applied():
		return fmt.Errorf("checkpoint %d: %q has number %d, but %d in checkpoint %d, which the store does not have",
			c.checkpoint, key, c.number, before.number, before.checkpoint)
	}
	l.owners[c.number], l.last[key] = key, c
	return nil
}

// numberedDelta is a modelDelta whose numbers are checked.
type numberedDelta struct {
	modelDelta
	ledger     *numberLedger
	checkpoint int64
	number     uint64
}

func (d *numberedDelta) Cell(number uint64) { d.number = number }

func (d *numberedDelta) Put(group stream.KeyGroup, state uint16, key string, space, value []byte) error {
	if err := d.ledger.note(storeKey(group, state, key, space), numberedChange{d.number, true, d.checkpoint}); err != nil {
		return err
	}
	return d.modelDelta.Put(group, state, key, space, value)
}

func (d *numberedDelta) Delete(group stream.KeyGroup, state uint16, key string, space []byte) error {
	if err := d.ledger.note(storeKey(group, state, key, space), numberedChange{d.number, false, d.checkpoint}); err != nil {
		return err
	}
	return d.modelDelta.Delete(group, state, key, space)
}

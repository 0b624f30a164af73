package pebblestate

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirstream/weir/stream"
)

// The entries of a dropped state are never read: no state has its number. What holds them is not changed for that: they
// go when a base is written, out of Pebble, and no new base takes them from a delta; a merge of deltas leaves them out too.

// Dropped lists the numbers of dropped states, ascending, those of [Restore] for ever: an older checkpoint of the lineage
// has entries under them, so no other state may get one.
func (b *Backend) Dropped() []uint16 { return slices.Clone(b.dropped) }

// drops reports that a key belongs to a dropped state.
func (b *Backend) drops(key []byte) bool {
	if len(b.dropped) == 0 || len(key) < 4 {
		return false
	}
	_, found := slices.BinarySearch(b.dropped, binary.BigEndian.Uint16(key[2:]))
	return found
}

// purge deletes the entries of dropped states from Pebble, once in an attempt: nothing writes such an entry. A range
// deletion slows down what reads beside it until it is compacted, so there is one only where there is something.
func (b *Backend) purge(ctx context.Context) (err error) {
	if b.purged || !b.hasBase || len(b.dropped) == 0 {
		b.purged = true
		return nil
	}
	it, err := b.db.NewIter(nil)
	if err != nil {
		return corruptIf(err)
	}
	batch := b.db.NewBatch()
	defer func() { err = errors.Join(err, corruptIf(it.Close()), batch.Close()) }()
	for _, id := range b.dropped {
		for group := 0; group < 1<<16 && it.SeekGE(appendState(nil, stream.KeyGroup(group), id)); {
			if err := errors.Join(context.Cause(ctx), b.Err()); err != nil {
				return err
			}
			found, state, _, _, err := splitKey(it.Key())
			if err != nil {
				return err
			}
			group = int(found)
			if state == id {
				from := appendState(nil, found, id)
				if err := batch.DeleteRange(from, prefixEnd(nil, from), nil); err != nil {
					return err
				}
			}
			if state >= id {
				group++
			}
		}
	}
	if err := it.Error(); err != nil {
		return corruptIf(err)
	}
	if err := b.db.Apply(batch, pebble.NoSync); err != nil {
		return err
	}
	b.purged = true
	return nil
}

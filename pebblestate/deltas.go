package pebblestate

import (
	"errors"
	"fmt"
	"slices"
)

// AddDelta adds the changes of a checkpoint. The writer is not used again. A delta without changes may be left out.
func (b *Backend) AddDelta(checkpoint int64, w *DeltaWriter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.lastAdded(); checkpoint <= last {
		return fmt.Errorf("the changes of checkpoint %d come after those of checkpoint %d", checkpoint, last)
	}
	b.lastDelta.Store(int64(w.Size() + w.Size()/8))
	b.lastChanges.Store(int64(w.Len() + w.Len()/8))
	b.deltas = append(b.deltas, Delta{First: checkpoint, Checkpoint: checkpoint, Repr: w.Bytes(), cells: w.cells})
	return nil
}

// Deltas lists the changes since the last base, oldest first.
func (b *Backend) Deltas() []Delta {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.deltas)
}

// PendingBytes is what the deltas take in memory.
func (b *Backend) PendingBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := sizeOf(b.deltas)
	for i := range b.deltas {
		n += b.deltas[i].cells.bytes()
	}
	return n
}

// LiveBytes is what so many entries take in the deltas, in bytes, by the average of all changes in them. It is not less than
// what the entries that were restored from deltas take, which may not have been read yet.
func (b *Backend) LiveBytes(entries int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	changes := int64(0)
	for i := range b.deltas {
		changes += int64(b.deltas[i].changes())
	}
	if changes == 0 {
		return 0
	}
	return max(entries, b.overlaid.Load()) * sizeOf(b.deltas) / changes
}

func sizeOf(deltas []Delta) (n int64) {
	for _, d := range deltas {
		n += int64(len(d.Repr))
	}
	return n
}

var errBaseUnderWay = errors.New("deltas cannot be merged while a base is written of them")

// MergeDeltas replaces the deltas from index from on by one that has the last change of each key, and returns it: nil if
// there is none. Deletions go if there is nothing before them that they could hide something of, and so do changes of dropped
// states. What is left stands in the order in which it was written, and older changes of some keys may be left too: the later one
// counts.
func (b *Backend) MergeDeltas(from int) ([]byte, error) {
	b.mu.Lock()
	deltas, based, pinned := slices.Clone(b.deltas), b.hasBase, b.pinned
	b.mu.Unlock()
	if pinned > 0 {
		return nil, errBaseUnderWay
	}
	if len(deltas) <= from {
		return nil, nil
	}
	var absent func(key []byte) bool
	switch {
	case from > 0: // what is in the deltas before is not known
	case based:
		absent = b.absent
	default:
		absent = func([]byte) bool { return true }
	}
	merged, err := mergeDeltas(deltas[from:], absent, b.drops)
	if err != nil {
		return nil, err
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pinned > 0 || based != b.hasBase || len(b.deltas) < len(deltas) {
		return nil, errBaseUnderWay
	}
	b.deltas = slices.Concat(b.deltas[:from:from], []Delta{merged}, b.deltas[len(deltas):])
	return merged.Repr, nil
}

// mergeDeltas makes one delta of several. What is before them lacks the keys that absent says, as far as is known: nil says none.
// drops says which keys are left out.
//
// Most changes are superseded by a later one of the same cell in memory, which its number tells: that costs a look into a
// small table, where the key would have to be hashed and looked up, far away in memory. Only after a restart, while many
// changes have no number, it is done by key. Those few that have none even later stay when it is done by number, and with them the
// deletions, which could be theirs; by key again once there are many of these.
func mergeDeltas(deltas []Delta, absent, drops func(key []byte) bool) (merged Delta, err error) {
	table, unknown := lastDeltas(deltas)
	if unknown > 0 && absent != nil && deltas[0].deletions > deltas[0].changes()/4 {
		table = nil
	}
	var isLast func(delta, at int, cell uint64) bool
	stays := absent == nil || table != nil && unknown > 0 // every deletion
	if table != nil {
		isLast = func(delta, _ int, cell uint64) bool { return cell == 0 || table.is(delta, cell) }
	} else if isLast, err = lastByKey(deltas); err != nil {
		return merged, err
	}
	most, changes := 0, 0
	for i := range deltas {
		most, changes = max(most, len(deltas[i].Repr)), max(changes, deltas[i].changes())
	}
	w := newDelta(most+most/4, changes+changes/4)
	for i := range deltas {
		r, err := readDelta(deltas[i].Repr)
		if err != nil {
			return merged, err
		}
		cells := cellReader{cells: &deltas[i].cells}
		for {
			at, key, size, ok, err := r.skim()
			if err != nil {
				return merged, err
			}
			if !ok {
				break
			}
			cell, deleted, name := cells.next(), r.repr[at] == kindDelete, r.repr[key:key+size]
			if !isLast(i, at, cell) || deleted && !stays && absent(name) || drops(name) {
				continue
			}
			if deleted {
				merged.deletions++
			}
			w.raw(r.repr[at:r.pos], cell)
		}
	}
	merged.First, merged.Checkpoint, merged.Repr, merged.cells = deltas[0].First, deltas[len(deltas)-1].Checkpoint, w.Bytes(), w.cells
	return merged, nil
}

// lastByKey finds the last change of each key, and returns what says of a place in a delta whether it is one.
func lastByKey(deltas []Delta) (func(delta, at int, cell uint64) bool, error) {
	table, err := lastChangesTable(reprsOf(deltas))
	if err != nil {
		return nil, err
	}
	places := make([][]uint64, len(deltas)) // a bit for each byte
	for i := range deltas {
		places[i] = make([]uint64, len(deltas[i].Repr)/64+1)
	}
	for i := range table.c.entries {
		e := &table.c.entries[i]
		places[e.delta][e.at/64] |= 1 << (e.at % 64)
	}
	return func(delta, at int, _ uint64) bool { return places[delta][at/64]>>(at%64)&1 == 1 }, nil
}

func reprsOf(deltas []Delta) [][]byte {
	reprs := make([][]byte, len(deltas))
	for i, d := range deltas {
		reprs[i] = d.Repr
	}
	return reprs
}

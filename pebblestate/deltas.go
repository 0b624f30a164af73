package pebblestate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// AddDelta adds the changes of a checkpoint; repr is a DeltaWriter's and is not changed again. A delta without changes
// may be left out.
func (b *Backend) AddDelta(checkpoint int64, repr []byte) error {
	if _, err := readDelta(repr); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.applied.Load()
	if n := len(b.deltas); n > 0 {
		last = max(last, b.deltas[n-1].Checkpoint)
	}
	if checkpoint <= last {
		return fmt.Errorf("the changes of checkpoint %d come after those of checkpoint %d", checkpoint, last)
	}
	b.lastDelta.Store(int64(len(repr) + len(repr)/8))
	b.deltas = append(b.deltas, Delta{First: checkpoint, Checkpoint: checkpoint, Repr: repr})
	return nil
}

// Deltas lists the changes since the last base, oldest first.
func (b *Backend) Deltas() []Delta {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.deltas)
}

// PendingBytes is the size of the deltas, which are held in memory.
func (b *Backend) PendingBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return sizeOf(b.deltas)
}

// LiveBytes is what so many entries take in the deltas, in bytes, by the average of all changes in them. It is not less than
// what the entries that were restored from deltas take, which may not have been read yet.
func (b *Backend) LiveBytes(entries int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	changes := int64(0)
	for _, d := range b.deltas {
		changes += int64(binary.LittleEndian.Uint32(d.Repr[8:]))
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
// there is none. Deletions go if there is nothing before them that they could hide something of,
// and so do changes of dropped states.
func (b *Backend) MergeDeltas(from int) ([]byte, error) {
	b.mu.Lock()
	deltas, alone, pinned := slices.Clone(b.deltas), !b.hasBase, b.pinned
	b.mu.Unlock()
	if pinned > 0 {
		return nil, errBaseUnderWay
	}
	if len(deltas) <= from {
		return nil, nil
	}
	table, err := lastChangesTable(reprsOf(deltas[from:]))
	if err != nil {
		return nil, err
	}
	size := 0
	for i := range table.c.entries {
		size += int(table.c.entries[i].size)
	}
	w := newDelta(size + size/2 + deltaHeader)
	for i := range table.c.len() {
		if c := table.c.at(i); (!c.deleted || !alone || from > 0) && !b.drops(c.key) {
			w.raw(c)
		}
	}
	merged := Delta{First: deltas[from].First, Checkpoint: deltas[len(deltas)-1].Checkpoint, Repr: w.Bytes()}

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pinned > 0 || alone && b.hasBase || len(b.deltas) < len(deltas) {
		return nil, errBaseUnderWay
	}
	b.deltas = slices.Concat(b.deltas[:from:from], []Delta{merged}, b.deltas[len(deltas):])
	return merged.Repr, nil
}

func reprsOf(deltas []Delta) [][]byte {
	reprs := make([][]byte, len(deltas))
	for i, d := range deltas {
		reprs[i] = d.Repr
	}
	return reprs
}

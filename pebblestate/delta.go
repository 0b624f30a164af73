package pebblestate

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirstream/weir/stream"
)

// Delta is the changes of the checkpoints First to Checkpoint. Repr has the form of a Pebble batch: a header of 8 bytes of
// sequence number (zero) and 4 of count, little endian, then for each change a byte of kind, the key and, unless it is
// a deletion, the value, both with a uvarint of length before. It is never changed.
type Delta struct {
	First, Checkpoint int64
	Repr              []byte

	cells cellNumbers
	// deletions is how many of the changes of a merged delta are deletions.
	deletions int
}

// changes is how many changes a delta says that it has.
func (d *Delta) changes() int { return int(binary.LittleEndian.Uint32(d.Repr[8:])) }

const (
	deltaHeader = 12
	kindDelete  = byte(pebble.InternalKeyKindDelete)
	kindSet     = byte(pebble.InternalKeyKindSet)
)

// DeltaWriter encodes the changes of one checkpoint. It copies what it is given. It is for one goroutine.
type DeltaWriter struct {
	buf   []byte
	count uint32
	cells cellNumbers
}

// NewDelta returns a writer for the changes of the next checkpoint.
func (b *Backend) NewDelta() *DeltaWriter {
	return newDelta(int(b.lastDelta.Load()), int(b.lastChanges.Load()))
}

func newDelta(sizeHint, changesHint int) *DeltaWriter {
	return &DeltaWriter{buf: make([]byte, deltaHeader, max(sizeHint, 512)), cells: cellNumbers{low: make([]uint32, 0, changesHint)}}
}

// Cell gives the number of the cell that the next change is of, which makes merging cheap. It may be left out.
func (w *DeltaWriter) Cell(number uint64) { w.cells.set(int(w.count), number) }

// Put adds an entry's new value. A second change of the same entry replaces the first when the delta is read.
func (w *DeltaWriter) Put(group stream.KeyGroup, state uint16, key string, namespace, value []byte) error {
	n := keyLen(key, namespace)
	if err := w.took(n + len(value)); err != nil {
		return err
	}
	if n < 0x80 && len(key) < 0x80 && len(value) < 0x80 { // most: each length takes a byte
		at := len(w.buf)
		w.buf = slices.Grow(w.buf, 3+n+len(value))[:at+3+n+len(value)]
		b := w.buf[at:]
		b[0], b[1] = kindSet, byte(n)
		binary.BigEndian.PutUint32(b[2:], uint32(group)<<16|uint32(state))
		b[6] = byte(len(key))
		copy(b[7:], key)
		copy(b[7+len(key):], namespace)
		b[2+n] = byte(len(value))
		copy(b[3+n:], value)
		return nil
	}
	buf := appendKey(binary.AppendUvarint(append(w.buf, kindSet), uint64(n)), group, state, key, namespace)
	w.buf = append(binary.AppendUvarint(buf, uint64(len(value))), value...)
	return nil
}

// Delete adds an entry's deletion.
func (w *DeltaWriter) Delete(group stream.KeyGroup, state uint16, key string, namespace []byte) error {
	n := keyLen(key, namespace)
	if err := w.took(n); err != nil {
		return err
	}
	buf := append(w.buf, kindDelete)
	w.buf = appendKey(binary.AppendUvarint(buf, uint64(n)), group, state, key, namespace)
	return nil
}

// took counts a change of so many bytes beside their lengths.
func (w *DeltaWriter) took(size int) error {
	if w.count == math.MaxUint32 || size > math.MaxInt32 {
		return fmt.Errorf("%d changes and one more of %d bytes: a delta takes at most %d, of 2 GiB each", w.count, size, uint32(math.MaxUint32))
	}
	w.count++
	return nil
}

// raw adds a change that is encoded already.
func (w *DeltaWriter) raw(b []byte, cell uint64) {
	w.cells.set(int(w.count), cell)
	w.count++
	w.buf = append(w.buf, b...)
}

// Len is the number of changes, Size the bytes so far.
func (w *DeltaWriter) Len() int  { return int(w.count) }
func (w *DeltaWriter) Size() int { return len(w.buf) }

// Bytes returns the delta, in no much larger room than it needs.
func (w *DeltaWriter) Bytes() []byte {
	binary.LittleEndian.PutUint32(w.buf[8:], w.count)
	if n := len(w.buf); cap(w.buf) > n+n/4+512 {
		w.buf = slices.Clone(w.buf)
	}
	return w.buf
}

// change is one entry of a delta.
type change struct {
	key, value []byte
	deleted    bool
}

// deltaReader reads a delta from front to back.
type deltaReader struct {
	repr []byte
	pos  int
	left uint32
}

func readDelta(repr []byte) (deltaReader, error) {
	if len(repr) < deltaHeader {
		return deltaReader{}, fmt.Errorf("%w: a delta of %d bytes has no header", ErrCorrupt, len(repr))
	}
	return deltaReader{repr: repr, pos: deltaHeader, left: binary.LittleEndian.Uint32(repr[8:])}, nil
}

// next returns the next change and the place where it begins; ok is false at the end.
func (r *deltaReader) next() (c change, at int, ok bool, err error) {
	at = r.pos
	if r.left == 0 {
		if r.pos != len(r.repr) {
			return c, at, false, fmt.Errorf("%w: %d bytes after the last change of a delta", ErrCorrupt, len(r.repr)-r.pos)
		}
		return c, at, false, nil
	}
	c, n := decodeChange(r.repr[r.pos:])
	if n == 0 {
		return c, at, false, fmt.Errorf("%w: a delta of %d bytes breaks off at byte %d, %d changes before its end", ErrCorrupt, len(r.repr), at, r.left)
	}
	r.pos += n
	r.left--
	return c, at, true, nil
}

// skim is next for who needs no more than the place of the key: of most changes it looks at nothing else.
func (r *deltaReader) skim() (at, key, size int, ok bool, err error) {
	if b := r.repr[r.pos:]; r.left > 0 && len(b) > 2 && b[0] == kindSet && b[1] < 0x80 {
		value := 2 + int(b[1]) // where its length is
		if value < len(b) && b[value] < 0x80 && value+1+int(b[value]) <= len(b) {
			at = r.pos
			r.pos += value + 1 + int(b[value])
			r.left--
			return at, at + 2, value - 2, true, nil
		}
	}
	c, at, ok, err := r.next()
	if !ok || err != nil {
		return at, 0, 0, false, err
	}
	for key = at + 2; r.repr[key-1] >= 0x80; key++ { // behind its length
	}
	return at, key, len(c.key), true, nil
}

// decodeChange decodes the change at the front of b and returns its length, 0 if there is none.
func decodeChange(b []byte) (c change, n int) {
	if len(b) == 0 || b[0] != kindSet && b[0] != kindDelete {
		return c, 0
	}
	c.deleted = b[0] == kindDelete
	n = 1
	var size int
	if c.key, size = cutString(b[n:]); size == 0 {
		return c, 0
	}
	n += size
	if c.deleted {
		return c, n
	}
	if c.value, size = cutString(b[n:]); size == 0 {
		return c, 0
	}
	return c, n + size
}

// cutString takes a string with its length before it; size is that of both, 0 if there is none.
func cutString(b []byte) (s []byte, size int) {
	if len(b) > 0 && b[0] < 0x80 { // most
		if end := 1 + int(b[0]); end <= len(b) {
			return b[1:end:end], end
		}
		return nil, 0
	}
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, 0
	}
	end := k + int(n)
	return b[k:end:end], end
}

package operators

import (
	"fmt"
	"strings"

	"github.com/weirstream/weir/stream"
)

// bucket is all entries that one key has in a map or list state. It is complete: what is not in it does not exist.
type bucket struct {
	key    string
	group  stream.KeyGroup
	flags  uint8
	epoch  uint64 // of the last change of any entry, deletions included
	live   int    // entries with a value
	weight int64  // bytes in memory beside the cells
	cells  int
}

// newCell makes the cell of an entry that the bucket does not have. If the store has it all the same, then a delta has its
// deletion.
func newCell[V any](name string, nsLen int, b *bucket) *cell[V] {
	c := &cell[V]{group: b.group}
	c.setName(name, nsLen)
	return c
}

// loadCell makes the cell of an entry of the store and counts it, for a bucket that is being loaded.
func loadCell[V any](name string, nsLen int, b *bucket, v V) *cell[V] {
	c := newCell[V](name, nsLen, b)
	c.st, c.v[0] = [2]uint8{stLive, stLive}, v
	b.live++
	b.cells++
	b.weight += c.outside()
	return c
}

// buckets is a table with a bucket for each key; B embeds bucket by the way of base. A key enters as a whole when it is
// first used, and leaves as a whole when it is evicted.
type buckets[V, B any] struct {
	journal[V]
	m       map[string]*B
	cur     *B
	curBase *bucket
	cells   int   // in all buckets
	beside  int64 // bytes that a bucket needs for each cell beside it
	empty   []*B
	todo    int // of empty, worth a look

	base  func(*B) *bucket
	fresh func() *B
	// load adds an entry of the store.
	load func(b *B, space, value []byte) error
	// trim forgets deleted entries of earlier epochs.
	trim func(*B)
}

// open returns the current key's bucket, which it loads or makes if there is none. With make false it returns nil for a
// key that the store is known not to have.
func (t *buckets[V, B]) open(make bool) (*B, error) {
	key := t.ctx.key.key
	if t.cur != nil && t.curBase.key == key {
		return t.cur, nil
	}
	if b := t.m[key]; b != nil {
		t.use(b)
		return b, nil
	}
	empty := t.store.Empty(t.id)
	if empty && !make {
		return nil, nil
	}
	b := t.fresh()
	base := t.base(b)
	base.key, base.group = strings.Clone(key), t.ctx.key.group
	if !empty {
		err := t.store.Scan(base.group, t.id, base.key, func(space, value []byte) error {
			return t.load(b, space, value)
		})
		if err != nil {
			return nil, fmt.Errorf("state %q: key %q: %w", t.desc.Name, base.key, err)
		}
		if base.live == 0 && !make {
			return nil, nil
		}
	}
	base.weight += int64(len(base.key)) + 160
	t.m[base.key] = b
	t.live += base.live
	t.kept += base.weight
	t.cells += base.cells
	t.use(b)
	t.sweep()
	return b, nil
}

func (t *buckets[V, B]) use(b *B) {
	t.cur, t.curBase = b, t.base(b)
	t.curBase.flags |= flagHot
}

// change prepares the current bucket for a change.
func (t *buckets[V, B]) change(b *B) *bucket {
	base := t.base(b)
	if base.epoch != t.epoch {
		t.trim(b)
		base.epoch = t.epoch
	}
	return base
}

// grow counts a cell that was added, or with n = -1 one that was forgotten.
func (t *buckets[V, B]) grow(base *bucket, n int, bytes int64) {
	base.cells += n
	t.cells += n
	base.weight += int64(n) * bytes
	t.kept += int64(n) * bytes
}

// emptied queues a bucket that has nothing left; it goes once the store has all its deletions.
func (t *buckets[V, B]) emptied(b *B) {
	base := t.base(b)
	if base.live == 0 && base.flags&flagQueued == 0 {
		base.flags |= flagQueued
		t.empty = append(t.empty, b)
	}
}

// sweep drops a few buckets without entries.
func (t *buckets[V, B]) sweep() {
	for range min(4, t.todo) {
		t.todo--
		b := t.empty[t.todo]
		base := t.base(b)
		switch {
		case base.live > 0 || base.flags&flagGone != 0:
			base.flags &^= flagQueued
		case base.epoch > t.gone:
			continue
		default:
			t.forget(b)
		}
		last := len(t.empty) - 1
		t.empty[t.todo], t.empty[last] = t.empty[last], nil
		t.empty = t.empty[:last]
	}
}

func (t *buckets[V, B]) forget(b *B) {
	base := t.base(b)
	base.flags |= flagGone
	delete(t.m, base.key)
	t.live -= base.live
	t.kept -= base.weight
	t.cells -= base.cells
	if b == t.cur {
		t.cur, t.curBase = nil, nil
	}
}

// Freeze implements [Table].
func (t *buckets[V, B]) Freeze(checkpoint int64) Frozen {
	f := t.journal.Freeze(checkpoint)
	t.advance()
	return f
}

// advance takes note of what the store has by now: then the empty buckets are worth a look.
func (t *buckets[V, B]) advance() {
	if t.journal.advance() {
		t.todo = len(t.empty)
	}
}

// Bytes implements [Table].
func (t *buckets[V, B]) Bytes() int64 { return t.kept + int64(t.cells)*(t.cellBytes()+t.beside) }

// Evict implements [Table]; a key goes as a whole. Go walks over a map from a place at random.
func (t *buckets[V, B]) Evict(bytes int64, looks int) (stuck bool) {
	if t.Bytes() <= bytes {
		return false
	}
	t.advance()
	for range 2 {
		for _, b := range t.m {
			if looks--; looks < 0 {
				return false
			}
			base := t.base(b)
			if base.epoch > t.applied {
				continue
			}
			if base.flags&flagHot != 0 {
				base.flags &^= flagHot
				continue
			}
			if t.forget(b); t.Bytes() <= bytes {
				return false
			}
		}
	}
	return true
}

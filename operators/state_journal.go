package operators

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/weirstream/weir/stream"
)

// What a cell knows about its entry.
const (
	stAbsent  uint8 = iota // neither the store nor any delta has it
	stLive                 // it has a value
	stDead                 // deleted, but the store or a delta may have an older value
	stUnknown              // written without having been looked up
)

const (
	flagHot    uint8 = 1 << iota // used since the last eviction came by (CLOCK)
	flagBorn                     // was absent before this epoch
	flagQueued                   // stands in a sweep queue
	flagTimer                    // stands in a timer bucket
	flagGone                     // another cell has taken its place
	flagLoaded                   // came from the store
	flagNew                      // neither the store nor a delta had a value of the entry when the cell got its number
)

// cell is one entry of a live map. Its values have two slots, and the parity of the epoch of a change selects the one
// that it is written to: so the subtask writes epoch e while Encode reads epoch e-1 out of the other, and nothing is
// allocated for a change. A slot is written again only when the epoch that it held has been encoded (journal.touch). A
// slot keeps its old value until then, and so what that points to.
type cell[V any] struct {
	v     [2]V
	epoch uint64 // of the last change; 0 if loaded and not changed since
	// The name, the key followed by the namespace, stands in short if it fits, else at long. It does not change while the cell
	// is in use.
	long  *byte
	short [inlineName]byte
	size  uint32
	hash  uint32 // of the name, for an index
	at    uint32 // its place in journal.dirty, if epoch is the current one
	// number is the cell's alone in this process, and never another's: 0 before its first change.
	number uint64
	nsLen  uint16
	group  stream.KeyGroup
	st     [2]uint8
	flags  uint8 // the subtask's only
}

// inlineName is how long a name may be that needs no allocation of its own, and no cache miss to compare.
const inlineName = 16

// setName copies the name.
func (c *cell[V]) setName(name string, nsLen int) {
	c.size, c.nsLen = uint32(len(name)), uint16(nsLen)
	if len(name) <= inlineName {
		copy(c.short[:], name)
		return
	}
	c.long = unsafe.StringData(strings.Clone(name))
}

// name shares the cell's bytes.
func (c *cell[V]) name() string {
	if c.size <= inlineName {
		return unsafe.String(&c.short[0], int(c.size))
	}
	return unsafe.String(c.long, int(c.size))
}

// outside is how many bytes the name takes beside the cell.
func (c *cell[V]) outside() int64 {
	if c.size <= inlineName {
		return 0
	}
	return int64(c.size)
}

func (c *cell[V]) state() uint8  { return c.st[c.epoch&1] }
func (c *cell[V]) key() string   { return c.name()[:c.size-uint32(c.nsLen)] }
func (c *cell[V]) space() string { return c.name()[c.size-uint32(c.nsLen):] }

// first is the first byte of the value in a slot: to read it is to have the value in the processor's cache.
func (c *cell[V]) first(slot uint64) byte {
	if unsafe.Sizeof(c.v[0]) == 0 {
		return 0
	}
	return *(*byte)(unsafe.Pointer(&c.v[slot]))
}

// journal is the part that all live tables share: which entries have changed since the last Freeze, and which of them
// the store has by now. An epoch is the time between two Freezes that had something to take.
type journal[V any] struct {
	ctx   *Context
	store StateStore
	id    uint16
	desc  StateDesc
	codec Codec[V]

	epoch   uint64       // the current one, from 2
	safe    uint64       // every epoch up to this one is encoded
	applied uint64       // the store holds every change up to this epoch
	gone    uint64       // what was deleted up to this epoch the store will never have
	since   int64        // as of StateStore.Lacks
	lacked  uint64       // nor will it have what was new after since and was deleted up to this epoch
	older   uint64       // cells with a greater number have changed after since only
	dirty   []*cell[V]   // nil where a change was undone
	holes   int          // in dirty
	pending []*frozen[V] // frozen and, as far as is known, not encoded; oldest first
	marks   []mark       // frozen and, as far as is known, not in the store; oldest first
	behind  int          // cells in use whose last change is one of those

	live    int          // cells with a value
	kept    int64        // bytes in memory beside the cells: long names, and what tables add
	average atomic.Int64 // size of an encoded value, as of the last Encode

	number, lastNumber uint64 // the last one that a cell got, and the last of the block
}

// numberBlock is how many numbers a table takes at once; they begin at a multiple of it.
const numberBlock = 1 << 12

// numbers is how many blocks have been taken in this process.
var numbers atomic.Uint64

// nextNumber returns a number for a cell.
func (j *journal[V]) nextNumber() uint64 {
	if j.number == j.lastNumber {
		j.number = numbers.Add(1)*numberBlock - 1
		j.lastNumber = j.number + numberBlock
	}
	j.number++
	return j.number
}

// declare gives the state its number and adds the table to the context.
func (j *journal[V]) declare(ctx *Context, t Table, desc StateDesc, codec Codec[V]) error {
	if ctx.Store == nil {
		return fmt.Errorf("state %q: no key: put a key_by before the operator", desc.Name)
	}
	for _, other := range ctx.tables {
		if other.Desc().Name == desc.Name {
			return fmt.Errorf("state %q is declared twice", desc.Name)
		}
	}
	id, err := ctx.Store.StateID(ctx.Subtask.Operator, desc)
	if err != nil {
		return err
	}
	j.ctx, j.store, j.id, j.desc, j.codec = ctx, ctx.Store, id, desc, codec
	j.epoch, j.safe = 2, 1
	ctx.tables = append(ctx.tables, t)
	return nil
}

// Desc implements [Table].
func (j *journal[V]) Desc() StateDesc { return j.desc }

// Entries implements [Table].
func (j *journal[V]) Entries() int { return j.live }

// touch notes that c changes in this epoch and returns the cell to write to. It is another one if both slots of c are
// still to be encoded, which takes more than one checkpoint in flight: the caller then puts it in the place of c.
func (j *journal[V]) touch(c *cell[V]) *cell[V] {
	if c.epoch == j.epoch {
		return c
	}
	st := c.state()
	old := c
	if j.inUse(c) {
		c.flags |= flagGone
		c = &cell[V]{
			long: c.long, short: c.short, size: c.size, nsLen: c.nsLen, hash: c.hash, group: c.group, number: c.number,
			flags: flagHot | c.flags&(flagLoaded|flagNew),
		}
	}
	if c.number == 0 {
		c.number = j.nextNumber()
		if st == stAbsent {
			c.flags |= flagNew
		}
	}
	c.flags &^= flagBorn
	if st == stAbsent {
		c.flags |= flagBorn
	}
	j.settled(old)
	c.epoch, c.at = j.epoch, uint32(len(j.dirty))
	j.dirty = append(j.dirty, c)
	return c
}

// undo forgets that a cell has changed in this epoch. It leaves a hole: to move another cell there would cost a cache miss.
func (j *journal[V]) undo(c *cell[V]) {
	j.dirty[c.at] = nil
	j.holes++
	if j.holes < manyHoles || 2*j.holes < len(j.dirty) {
		return
	}
	kept := j.dirty[:0]
	for _, c := range j.dirty {
		if c != nil {
			c.at = uint32(len(kept))
			kept = append(kept, c)
		}
	}
	clear(j.dirty[len(kept):])
	j.dirty, j.holes = kept, 0
}

// manyHoles is from when on it is worth the while to close them.
const manyHoles = 1 << 16

// inUse reports that an Encode may still read the slot of c that this epoch writes to.
func (j *journal[V]) inUse(c *cell[V]) bool {
	if j.epoch-2 <= j.safe || c.epoch <= j.safe {
		return false
	}
	j.refresh()
	return j.epoch-2 > j.safe && c.epoch > j.safe
}

// put gives c a value. See touch for what it returns.
func (j *journal[V]) put(c *cell[V], v V) *cell[V] {
	if c.state() != stLive {
		j.live++
	}
	c = j.touch(c)
	i := j.epoch & 1
	c.v[i], c.st[i] = v, stLive
	return c
}

// kill takes the value of c away. See touch for what it returns. An entry that came in this same epoch leaves no trace.
func (j *journal[V]) kill(c *cell[V]) *cell[V] {
	switch c.state() {
	case stAbsent, stDead:
		return c
	case stLive:
		j.live--
	}
	c = j.touch(c)
	i := j.epoch & 1
	var zero V
	c.v[i], c.st[i] = zero, stDead
	if c.flags&flagBorn != 0 {
		c.st[i] = stAbsent
	}
	return c
}

// Freeze implements [Table].
func (j *journal[V]) Freeze(checkpoint int64) Frozen {
	if len(j.dirty) == j.holes {
		j.dirty, j.holes = j.dirty[:0], 0
		return nil
	}
	f := &frozen[V]{state: j.id, name: j.desc.Name, codec: j.codec, epoch: j.epoch, cells: j.dirty, n: len(j.dirty) - j.holes, average: &j.average}
	j.dirty, j.holes = j.refresh(), 0
	j.pending = append(j.pending, f)
	j.marks = append(j.marks, mark{j.epoch, checkpoint, f.n, j.number})
	j.behind += f.n
	j.epoch++
	return f
}

// refresh moves safe on. It returns an empty slice of an encoded epoch for the next one, nil if there is none.
func (j *journal[V]) refresh() (spare []*cell[V]) {
	n := 0
	for n < len(j.pending) && j.pending[n].done.Load() {
		f := j.pending[n]
		j.safe = f.epoch
		if spare == nil {
			spare, f.spare = f.spare, nil
		}
		n++
	}
	j.pending = slices.Delete(j.pending, 0, n)
	return spare
}

// cellBytes estimates what a cell costs besides its name: itself, a reference, and what its value points to.
func (j *journal[V]) cellBytes() int64 {
	return int64(unsafe.Sizeof(cell[V]{})) + 8 + j.average.Load()
}

package operators

import (
	"slices"
	"unsafe"
)

// index finds the cells of a table by name. It is extendible hashing (Fagin et al., 1979) over small tables with linear
// probing: the highest bits of a hash select a part, the lowest where to look in it. A part that is full is doubled, and
// from partSlots on split in two, so that no insertion costs more than one part, however many cells there are. Beside a
// Go map it spares the second hash, the key's own allocation and two of four cache misses.
type index[V any] struct {
	parts []*part[V] // 1<<depth; a part of a lower depth stands there more than once
	depth uint8
	n     int    // cells
	slots int    // in all parts
	read  uint64 // keeps what is read ahead from being optimized away
}

type part[V any] struct {
	slots []slot[V] // a power of two, never full
	n     int
	depth uint8 // how many of the highest bits all its hashes share
}

type slot[V any] struct {
	c    *cell[V]
	hash uint32
}

const (
	firstSlots = 8
	partSlots  = 1024
	// maxDepth leaves bits of the hash to look with. Parts of this depth are doubled for ever.
	maxDepth = 20
)

func (x *index[V]) init() {
	x.parts = []*part[V]{{slots: make([]slot[V], firstSlots)}}
	x.slots = firstSlots
}

func (x *index[V]) part(hash uint32) *part[V] { return x.parts[hash>>(32-x.depth)] }

// find returns the cell of a name, nil if there is none.
func (x *index[V]) find(hash uint32, name string) *cell[V] {
	p := x.part(hash)
	mask := uint32(len(p.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &p.slots[i]
		if s.c == nil {
			return nil
		}
		if s.hash == hash && s.c.name() == name {
			return s.c
		}
	}
}

// prefetch reads the cells where find would look first, most likely the ones. Nothing waits for what is read, and nothing
// else is in the loops, so that the processor runs ahead of its memory.
func (x *index[V]) prefetch(hashes []uint32) (read uint32) {
	var found [PrefetchMost]*cell[V]
	for i, hash := range hashes {
		p := x.part(hash)
		found[i] = p.slots[hash&uint32(len(p.slots)-1)].c
	}
	for _, c := range found[:len(hashes)] {
		if c != nil {
			read += c.size + uint32(c.epoch) // it may lie on two cache lines
		}
	}
	return read
}

// add takes in a cell whose name the index does not have.
func (x *index[V]) add(c *cell[V]) {
	p := x.part(c.hash)
	for (p.n+1)*4 > len(p.slots)*3 {
		x.grow(p)
		p = x.part(c.hash)
	}
	p.put(slot[V]{c, c.hash})
	x.n++
}

func (p *part[V]) put(s slot[V]) {
	mask := uint32(len(p.slots) - 1)
	i := s.hash & mask
	for p.slots[i].c != nil {
		i = (i + 1) & mask
	}
	p.slots[i] = s
	p.n++
}

func (x *index[V]) grow(p *part[V]) {
	old := p.slots
	if len(old) < partSlots || p.depth >= maxDepth {
		p.slots, p.n = make([]slot[V], 2*len(old)), 0
		x.slots += len(old)
		for _, s := range old {
			if s.c != nil {
				p.put(s)
			}
		}
		return
	}
	if p.depth == x.depth {
		x.parts = slices.Grow(x.parts, len(x.parts))[:2*len(x.parts)]
		for i := len(x.parts) - 1; i >= 0; i-- {
			x.parts[i] = x.parts[i/2]
		}
		x.depth++
	}
	halves := [2]*part[V]{}
	for i := range halves {
		halves[i] = &part[V]{slots: make([]slot[V], len(old)), depth: p.depth + 1}
	}
	x.slots += len(old)
	var one uint32 // of the hashes, which all begin with the bits of p
	for _, s := range old {
		if s.c != nil {
			one = s.hash
			halves[s.hash>>(31-p.depth)&1].put(s)
		}
	}
	first := int(one>>(32-p.depth)) << (x.depth - p.depth)
	for i := range 1 << (x.depth - p.depth) {
		x.parts[first+i] = halves[i>>(x.depth-p.depth-1)]
	}
}

// replace puts n, of the same name, in the place of c.
func (x *index[V]) replace(c, n *cell[V]) {
	p := x.part(c.hash)
	p.slots[p.slotOf(c)].c = n
}

// remove takes a cell out.
func (x *index[V]) remove(c *cell[V]) {
	p := x.part(c.hash)
	p.removeAt(p.slotOf(c))
	x.n--
}

func (p *part[V]) slotOf(c *cell[V]) uint32 {
	mask := uint32(len(p.slots) - 1)
	i := c.hash & mask
	for p.slots[i].c != c {
		i = (i + 1) & mask
	}
	return i
}

// removeAt empties a slot and moves those after it up that would not be found any more (Knuth, volume 3, 6.4, algorithm R).
func (p *part[V]) removeAt(i uint32) {
	mask := uint32(len(p.slots) - 1)
	for j := i; ; {
		j = (j + 1) & mask
		s := p.slots[j]
		if s.c == nil {
			break
		}
		if home := s.hash & mask; (j-home)&mask >= (j-i)&mask {
			p.slots[i], i = s, j
		}
	}
	p.slots[i] = slot[V]{}
	p.n--
}

// hand is where a walk over the cells stands: at a slot of the part that the highest bits of at select.
type hand struct {
	at   uint32
	slot int
}

// ahead is how many cells a walk reads before it needs the first of them.
const ahead = 16

// walk calls fn for one cell after the other, from where the hand stands, round and round, until it has looked at looks
// slots; fn says whether the cell is to leave and whether to go on. It returns at how many it has looked. A round sees every
// cell that is there from its beginning to its end, some of them twice.
func (x *index[V]) walk(h *hand, looks int, fn func(*cell[V]) (leave, more bool)) (looked int) {
	for looked < looks {
		p := x.part(h.at)
		some := p.slots[min(h.slot, len(p.slots)):]
		some = some[:min(len(some), ahead, looks-looked)]
		for _, s := range some { // nothing else is here, as in prefetch
			if s.c != nil {
				x.read += s.c.epoch + uint64(s.c.flags)
			}
		}
		for range some {
			looked++
			c := p.slots[h.slot].c
			if c == nil {
				h.slot++
				continue
			}
			leave, more := fn(c)
			if leave { // another cell may have taken its place
				p.removeAt(uint32(h.slot))
				x.n--
			} else {
				h.slot++
			}
			if !more {
				return looked
			}
		}
		if h.slot >= len(p.slots) {
			x.shrink(p)
			h.at, h.slot = h.at&^(uint32(1)<<(32-p.depth)-1)+1<<(32-p.depth), 0
		}
	}
	return looked
}

// shrink gives memory back that a part does not need any more.
func (x *index[V]) shrink(p *part[V]) {
	n := len(p.slots)
	for n > firstSlots && p.n*8 <= n {
		n /= 2
	}
	if n == len(p.slots) {
		return
	}
	old := p.slots
	p.slots, p.n = make([]slot[V], n), 0
	x.slots -= len(old) - n
	for _, s := range old {
		if s.c != nil {
			p.put(s)
		}
	}
}

// bytes is what the index takes beside the cells.
func (x *index[V]) bytes() int64 {
	return int64(x.slots)*int64(unsafe.Sizeof(slot[V]{})) + int64(len(x.parts))*8
}

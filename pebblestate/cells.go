package pebblestate

// cellNumbers are the numbers of the cells that the changes of a delta are of, in the order of the changes; 0 is not known.
// They are only in memory.
type cellNumbers struct {
	// low has the lower halves of the numbers. It may be shorter than the delta: what is missing is 0.
	low []uint32
	// highs has the upper halves: each is that of all changes from its place on. Before the first it is 0.
	highs []cellRun
}

type cellRun struct {
	from int
	high uint32
}

// set is for change i, which comes after all that were set before.
func (c *cellNumbers) set(i int, number uint64) {
	if len(c.low) < i {
		c.setHigh(len(c.low), 0)
		for len(c.low) < i {
			c.low = append(c.low, 0)
		}
	}
	c.setHigh(i, uint32(number>>32))
	c.low = append(c.low[:i], uint32(number)) // it may be said again, before the change
}

func (c *cellNumbers) setHigh(i int, high uint32) {
	if n := len(c.highs); n == 0 && high != 0 || n > 0 && c.highs[n-1].high != high {
		c.highs = append(c.highs, cellRun{i, high})
	}
}

// bytes is what they take in memory.
func (c *cellNumbers) bytes() int64 { return int64(4*cap(c.low) + 16*cap(c.highs)) }

// cellReader reads numbers from the first change on.
type cellReader struct {
	cells *cellNumbers
	i     int
	high  uint64
	run   int
}

func (r *cellReader) next() (number uint64) {
	if r.i >= len(r.cells.low) {
		r.i++
		return 0
	}
	for r.run < len(r.cells.highs) && r.cells.highs[r.run].from <= r.i {
		r.high = uint64(r.cells.highs[r.run].high) << 32
		r.run++
	}
	number = r.high | uint64(r.cells.low[r.i])
	r.i++
	return number
}

// cellTable says for each cell which of some deltas has its last change: with two bytes a cell, in pages, since numbers are
// handed out in blocks, and those of the cells that change lie close together.
type cellTable struct {
	first uint64 // the page of pages[0]
	pages []*[cellPage]uint16
	used  int
}

const cellPage = 1 << 12

// page returns the page of a number, and makes it if there is none.
func (t *cellTable) page(number uint64) *[cellPage]uint16 {
	p := &t.pages[number/cellPage-t.first]
	if *p == nil {
		*p = new([cellPage]uint16)
		t.used++
	}
	return *p
}

// lastDeltas makes the table of deltas, in which 1 stands for the first of them. It is nil if the numbers are no help: too
// many changes have none, or they lie too far apart. It also returns how many have none.
func lastDeltas(deltas []Delta) (t *cellTable, unknown int) {
	first, last, known, all := ^uint64(0), uint64(0), 0, 0
	for i := range deltas {
		all += deltas[i].changes()
		r := cellReader{cells: &deltas[i].cells}
		for range deltas[i].cells.low {
			if n := r.next(); n != 0 {
				first, last, known = min(first, n), max(last, n), known+1
			}
		}
	}
	const farthest = 1 << 20 // pages: 8 MB of pointers
	unknown = all - known
	if len(deltas) >= 1<<16 || unknown > all/8 || known == 0 || last/cellPage-first/cellPage >= farthest {
		return nil, unknown
	}
	t = &cellTable{first: first / cellPage, pages: make([]*[cellPage]uint16, last/cellPage-first/cellPage+1)}
	for i := range deltas {
		r := cellReader{cells: &deltas[i].cells}
		for range deltas[i].cells.low {
			if n := r.next(); n != 0 {
				t.page(n)[n%cellPage] = uint16(i + 1)
			}
		}
		if t.used > all/64+16 {
			return nil, unknown
		}
	}
	return t, unknown
}

// is reports that the delta with the number i, from 0, has the last change of a cell.
func (t *cellTable) is(i int, number uint64) bool {
	return t.pages[number/cellPage-t.first][number%cellPage] == uint16(i+1)
}

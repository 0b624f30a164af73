package operators

// sweep is a queue of deleted cells, of which the first todo are worth a look.
type sweep[V any] struct {
	cells []*cell[V]
	head  int
	todo  int
}

func (s *sweep[V]) len() int       { return len(s.cells) - s.head }
func (s *sweep[V]) add(c *cell[V]) { s.cells = append(s.cells, c) }
func (s *sweep[V]) next() (c *cell[V]) {
	c, s.cells[s.head] = s.cells[s.head], nil
	s.head++
	s.todo--
	if s.head > 1024 && s.head > len(s.cells)/2 {
		n := copy(s.cells, s.cells[s.head:])
		clear(s.cells[n:])
		s.cells, s.head = s.cells[:n], 0
	}
	return c
}

// looksEach is how many deleted cells of each queue are looked at for a change.
const looksEach = 4

// sweep drops a few deleted cells: those of a closed table once their epoch is over, the others once they are forgettable. Its
// cost is bounded, so that it can be called for every change.
func (t *cells[V]) sweep() {
	for range min(looksEach, t.closing.todo) {
		c := t.closing.next()
		switch {
		case c.state() == stLive || c.flags&flagGone != 0:
			c.flags &^= flagQueued
		case c.epoch == t.epoch:
			t.closing.add(c)
		default:
			t.index.remove(c)
			t.forget(c)
		}
	}
	if t.dead.todo == 0 {
		return
	}
	// Some at a time, since each is likely to be far away in memory.
	n := min(PrefetchMost, t.dead.todo)
	if t.owed += looksEach; t.owed < n {
		return
	}
	t.owed = 0
	var some [PrefetchMost]*cell[V]
	for i := range n {
		some[i] = t.dead.next()
	}
	t.prefetchCells(some[:n])
	for _, c := range some[:n] {
		switch {
		case c.state() == stLive || c.flags&flagGone != 0:
			c.flags &^= flagQueued
		case !t.forgettable(c):
			t.dead.add(c)
		default:
			c.flags &^= flagQueued
			t.index.remove(c)
			t.forget(c)
		}
	}
}

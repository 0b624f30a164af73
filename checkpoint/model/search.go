package model

// Result is what a search has found.
type Result struct {
	// States and Moves are counts; Depth is the length of the longest of the shortest ways.
	States, Moves, Depth int
	// Complete: every state within the bounds was looked at.
	Complete bool
	// Reached has a bit for each place of its program that a process has been at, and Finished says that one has committed the
	// whole input. They show that the search was not about nothing.
	Reached  uint16
	Finished bool
	// Violation is the property that does not hold, 0 if all do; Text says how.
	Violation Property
	Text      string
	// Trace tells a shortest way there, a line a move.
	Trace []string
}

// node is where a state was first come from.
type node struct {
	parent int32
	hash   uint64
}

// Explore looks at every state within the bounds, the nearest first, until a property does not hold. It stops after limit
// states, if limit is not 0.
func Explore(c Config, limit int) Result {
	e := newExplorer(c)
	var r Result
	seen := newSet()
	var buf []byte
	begin := e.initial()
	h, buf := begin.hash(buf)
	seen.add(h)
	nodes := []node{{-1, h}}
	level := []state{begin}
	at := int32(0) // of the level's first state in nodes
	loners := newLoners(c)
	for len(level) > 0 {
		var following []state
		first := int32(len(nodes))
		for i := range level {
			r.note(&e.Config, &level[i])
			if text := loners.stuck(&level[i]); text != "" {
				r.Violation, r.Text = Progress, text
				r.Trace = trace(c, nodes, at+int32(i), 0, "")
				r.States = len(nodes)
				return r
			}
			for _, m := range e.moves(&level[i]) {
				r.Moves++
				if m.property != 0 {
					h, buf = m.state.hash(buf)
					r.Violation, r.Text, r.States = m.property, m.text, len(nodes)
					r.Trace = trace(c, nodes, at+int32(i), h, m.text)
					return r
				}
				if m.state.last.id > c.Checkpoints {
					continue
				}
				h, buf = m.state.hash(buf)
				if !seen.add(h) {
					continue
				}
				nodes = append(nodes, node{at + int32(i), h})
				following = append(following, m.state)
			}
			if limit > 0 && len(nodes) >= limit {
				r.States = len(nodes)
				return r
			}
		}
		level, at = following, first
		r.Depth++
	}
	r.States, r.Complete = len(nodes), !e.cramped
	return r
}

// note keeps what a state shows.
func (r *Result) note(c *Config, s *state) {
	for i := range c.Processes {
		p := &s.procs[i]
		r.Reached |= 1 << p.pc
		r.Finished = r.Finished || p.pc == running && p.at.in == c.Records
	}
}

// set is a set of hashes.
type set struct {
	table []uint64
	n     int
}

func newSet() *set { return &set{table: make([]uint64, 1<<12)} }

// add reports whether the hash is new.
func (s *set) add(h uint64) bool {
	if h == 0 {
		h = 1
	}
	if 2*s.n > len(s.table) {
		old := s.table
		s.table, s.n = make([]uint64, 2*len(old)), 0
		for _, h := range old {
			if h != 0 {
				s.add(h)
			}
		}
	}
	for i := h & uint64(len(s.table)-1); ; i = (i + 1) & uint64(len(s.table)-1) {
		switch s.table[i] {
		case h:
			return false
		case 0:
			s.table[i] = h
			s.n++
			return true
		}
	}
}

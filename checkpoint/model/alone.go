package model

// loners looks for states from which one process, with the others dead and no fault to come, does not get to the end.
type loners struct {
	e     *explorer
	known map[uint64]bool // false: on the way
	buf   []byte
}

func newLoners(c Config) *loners {
	e := newExplorer(c)
	e.patient = true
	return &loners{e, map[uint64]bool{}, nil}
}

// stuck says what is wrong with a state, "" if nothing is.
func (l *loners) stuck(s *state) string {
	if l.e.Only != 0 && l.e.Only != Progress {
		return ""
	}
	for i := range l.e.Processes {
		n := *s
		n.crashes, n.network, n.timeouts, n.strangers, n.losses, n.stale = 0, 0, 0, 0, 0, 0
		n.late, n.lateInit = [slots]message{}, 0
		for k := range n.procs {
			if k != i {
				n.procs[k] = process{pc: takenOver}
			}
		}
		n.trim()
		if text := l.walk(&n, i); text != "" {
			return text
		}
	}
	return ""
}

// walk goes every way that the process can go. Each has to end well: there is no way that goes round.
func (l *loners) walk(s *state, i int) string {
	p := &s.procs[i]
	if p.pc == takenOver || p.pc == refused || p.pc == running && p.at.in == l.e.Records {
		return ""
	}
	var h uint64
	h, l.buf = s.hash(l.buf)
	if done, ok := l.known[h]; ok {
		if !done {
			return "a process that is alone goes round and gets nowhere"
		}
		return ""
	}
	l.known[h] = false
	ways := append([]next(nil), l.e.alone(s, uint8(i))...)
	if len(ways) == 0 {
		return "a process that is alone waits for something that does not happen"
	}
	for k := range ways {
		if text := l.walk(&ways[k].state, i); text != "" {
			return text
		}
	}
	l.known[h] = true
	return ""
}

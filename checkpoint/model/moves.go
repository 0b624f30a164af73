package model

// kind is what happens in a move.
type kind uint8

const (
	fenceSlot kind = iota
	fenceSlotCopied
	readGroup
	takeEnd
	readPointer
	writePointer
	commitOK
	commitRequestLost
	commitAnswerLost
	commitDelayed
	commitTwice
	writeDelayed
	writeFenced
	sendRecord
	trigger
	giveUpCheckpoint
	askTaken
	noticeTaken
	decide
	watchOver
	crash
	markers
	arrive
	arriveInit
	timeOut
	strangerBegins
	strangerEnds
	loseTopic
	reinit
	giveUpWaiting
	readOldGroup
	readOldPointer
	lookAgain
)

// move is one step: of process p, or of the broker and the network.
type move struct {
	kind kind
	p    uint8 // maxProcesses for the broker
	a, b uint8
}

// next is a move and where it leads.
type next struct {
	move
	state
	violation
}

const broker = maxProcesses

// explorer makes the moves of a search.
type explorer struct {
	Config
	real *decisions
	out  []next
	// patient: nobody gives up waiting for what happens by itself.
	patient bool
	// cramped: a move was left out because a state has no room for it.
	cramped bool
}

func newExplorer(c Config) *explorer { return &explorer{Config: c, real: newDecisions(c.Concurrent)} }

// emit adds a move.
func (e *explorer) emit(m move, s *state, f found) {
	s.trim()
	e.out = append(e.out, next{m, *s, f.violation})
}

func (e *explorer) found() found { return found{only: e.Only} }

// moves returns every move from a state. The result is valid until the next call.
func (e *explorer) moves(s *state) []next {
	e.out = e.out[:0]
	for i := range uint8(e.Processes) {
		e.process(s, i)
	}
	e.environment(s)
	e.faults(s)
	return e.out
}

// alone returns the moves of one process and of what happens by itself, without a fault.
func (e *explorer) alone(s *state, i uint8) []next {
	e.out = e.out[:0]
	e.process(s, i)
	e.environment(s)
	return e.out
}

// environment are the broker's own moves and those of the network.
func (e *explorer) environment(s *state) {
	for i := range uint8(slots) {
		if t := s.slots[i].txn; t == prepareCommit || t == prepareAbort {
			n := *s
			n.mark(i)
			e.emit(move{markers, broker, i, 0}, &n, e.found())
		}
		if s.late[i].kind != nothing {
			e.arrive(s, i)
		}
		if s.lateInit>>i&1 == 1 && (s.slots[i].txn == none || s.slots[i].txn == open) {
			n := *s
			n.lateInit &^= 1 << i
			n.fence(i)
			e.emit(move{arriveInit, broker, i, 0}, &n, e.found())
		}
	}
	for i := range s.nlog {
		if s.log[i].of == stranger {
			n := *s
			n.remove(i)
			e.emit(move{strangerEnds, broker, 0, 0}, &n, e.found())
		}
	}
}

// arrive lets a delayed request arrive. While its slot's transaction is being settled the broker refuses it, which
// changes nothing.
func (e *explorer) arrive(s *state, i uint8) {
	t := s.slots[i].txn
	if t != none && t != open {
		return
	}
	n, f := *s, e.found()
	m := n.late[i]
	n.late[i] = message{}
	switch m.kind {
	case produceRecord:
		if !n.produce(i, m.record) {
			e.cramped = true
			return
		}
	case producePointer:
		if !n.append(i, m.ptr, nil) {
			e.cramped = true
			return
		}
		n.slots[i].txn = open
	case endTransaction:
		if t == open {
			if e.TransactionVersion >= 2 {
				n.bump(i)
			}
			e.end(&n, i, &f)
		}
	}
	e.emit(move{arrive, broker, i, m.kind}, &n, f)
}

// faults are what goes wrong, as long as there is something left of it.
func (e *explorer) faults(s *state) {
	if s.crashes > 0 {
		for i := range uint8(e.Processes) {
			p := &s.procs[i]
			if p.pc == takenOver || p.pc == refused || p.pc == fencing && p.fenced == 0 {
				continue // nothing to lose
			}
			n := *s
			n.crashes--
			p = &n.procs[i]
			*p = process{flags: p.flags, pool: p.pool}
			e.begin(p)
			e.emit(move{crash, i, 0, 0}, &n, e.found())
		}
	}
	if s.timeouts > 0 {
		for i := range uint8(slots) {
			if s.slots[i].txn == open {
				n := *s
				n.timeouts--
				n.bump(i)
				n.abort(i)
				e.emit(move{timeOut, broker, i, 0}, &n, e.found())
			}
		}
	}
	if s.strangers > 0 {
		n := *s
		n.strangers--
		e.cramped = !n.append(stranger, pointer{}, nil) || e.cramped
		e.emit(move{strangerBegins, broker, 0, 0}, &n, e.found())
	}
	if s.losses > 0 && s.last.id > 0 {
		n := *s
		n.losses--
		n.lost = true
		for n.nlog > 0 {
			n.remove(n.nlog - 1)
		}
		e.emit(move{loseTopic, broker, 0, 0}, &n, e.found())
	}
}

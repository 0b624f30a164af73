package model

import "github.com/weirstream/weir/checkpoint"

func (e *explorer) initial() state {
	s := state{crashes: e.Crashes, network: e.Network, timeouts: e.Timeouts, strangers: e.Strangers, losses: e.Losses, stale: e.Stale}
	for i := range s.procs {
		p := &s.procs[i]
		p.pool = checkpoint.Slots
		e.begin(p)
		if i < e.From {
			p.flags = 1
		}
		if i >= e.Processes {
			p.pc = refused // is not there
			p.pool = 0
		}
	}
	if e.Departure == TwoPoolSizes {
		s.procs[0].pool = 2
	}
	return s
}

// process makes the moves of a process.
func (e *explorer) process(s *state, i uint8) {
	p := &s.procs[i]
	switch p.pc {
	case fencing:
		e.fencing(s, i)
	case readingGroup:
		e.readGroup(s, i)
	case takingEnd:
		n := *s
		n.procs[i].end, n.procs[i].pc = s.nlog, readingPointer
		e.emit(move{takeEnd, i, 0, 0}, &n, e.found())
	case readingPointer:
		e.readPointer(s, i)
	case beginning:
		if e.real.coordinator(coordQuestion{committed: p.at.id, beginning: true}).commit {
			e.commit(s, i, 0, p.at.in)
		}
	case running:
		e.running(s, i)
	case asking:
		e.ask(s, i)
	case deciding, watching:
		e.decide(s, i)
	}
}

// begin puts a process before its next attempt.
func (e *explorer) begin(p *process) {
	p.reset()
	p.pc = fencing
	if e.Departure == PointerBeforeFencing {
		p.pc = readingGroup
	}
}

// fencing takes over one slot more (InitProducerID). A copy of the request may stay on its way.
func (e *explorer) fencing(s *state, i uint8) {
	for k := range uint8(slots) {
		if e.every(&s.procs[i])&^s.procs[i].fenced>>k&1 == 0 {
			continue
		}
		if t := s.slots[k].txn; t == none || t == open {
			n := *s
			done := n.fence(k)
			if p := &n.procs[i]; done {
				p.owned |= 1 << k
				p.fenced |= 1 << k
			}
			e.afterFence(&n, i, move{fenceSlot, i, k, s.slots[k].txn})
			if done && s.network > 0 && s.lateInit>>k&1 == 0 {
				n.network--
				n.lateInit |= 1 << k
				e.afterFence(&n, i, move{fenceSlotCopied, i, k, s.slots[k].txn})
			}
		}
		if e.InOrder {
			return
		}
	}
}

func (e *explorer) afterFence(s *state, i uint8, m move) {
	n := *s
	p := &n.procs[i]
	switch {
	case p.fenced != e.every(p):
	case e.Departure == PointerBeforeFencing:
		e.resolve(&n, i, m)
		return
	case e.Departure == GroupReadLast:
		p.pc = takingEnd
	default:
		p.pc = readingGroup
	}
	e.emit(m, &n, e.found())
}

// readGroup asks for the group's offset (RequireStable): it waits while one is in a transaction that is not decided.
func (e *explorer) readGroup(s *state, i uint8) {
	if s.stale > 0 && e.Departure != NoGroup && e.Departure != GroupReadLast {
		for g := range s.group {
			n := *s
			n.stale--
			p := &n.procs[i]
			p.group, p.misled, p.pc = g, true, takingEnd
			e.emit(move{readOldGroup, i, g, 0}, &n, e.found())
		}
	}
	n := *s
	p := &n.procs[i]
	if e.Departure != NoGroup {
		for _, x := range s.slots {
			if x.group != 0 {
				e.giveUpWaiting(s, i)
				return
			}
		}
		p.group = s.group
	}
	p.pc = takingEnd
	if e.Departure == GroupReadLast {
		e.resolve(&n, i, move{readGroup, i, p.group, 0})
		return
	}
	e.emit(move{readGroup, i, p.group, 0}, &n, e.found())
}

// readPointer waits until everything below the end that was taken is decided, and reads the last committed pointer there. A
// node that leads no more has an end of its own, below which everything is decided, and any older pointer for the last.
func (e *explorer) readPointer(s *state, i uint8) {
	if s.stale > 0 && e.Departure != PointerBeforeFencing && e.Departure != GroupReadLast {
		for k := -1; k < s.lastBelow(s.nlog); k++ {
			if k >= 0 && s.log[k].undecided() {
				continue
			}
			n := *s
			n.stale--
			p := &n.procs[i]
			p.end, p.at, p.mine, p.misled = 0, pointer{}, 0, true
			if k >= 0 {
				p.at = s.log[k].ptr
			}
			e.resolve(&n, i, move{readOldPointer, i, p.at.id, 0})
		}
	}
	n := *s
	p := &n.procs[i]
	end := p.end
	if stable := s.stable(); stable < end {
		if e.Departure != NoStableWait {
			e.giveUpWaiting(s, i)
			return
		}
		end = stable
	}
	p.end, p.at, p.mine = 0, pointer{}, 0
	if k := s.lastBelow(end); k >= 0 {
		p.at = s.log[k].ptr
	}
	m := move{readPointer, i, p.at.id, 0}
	switch e.Departure {
	case GroupReadLast:
		p.pc = readingGroup
	case PointerBeforeFencing:
		p.pc = fencing
	default:
		e.resolve(&n, i, m)
		return
	}
	e.emit(m, &n, e.found())
}

// giveUpWaiting ends an attempt that has waited for the end of a transaction until its deadline. A process that is alone does
// so only if the transaction does not end by itself.
func (e *explorer) giveUpWaiting(s *state, i uint8) {
	hangs := false
	for k, x := range s.slots {
		own := s.procs[i].step == 1 && s.procs[i].owned>>k&1 == 1 // it waits in front of its own pointer
		hangs = hangs || x.txn == open && !own
	}
	if e.patient && !hangs {
		return
	}
	n := *s
	e.failed(&n.procs[i])
	e.emit(move{giveUpWaiting, i, 0, 0}, &n, e.found())
}

// failed ends an attempt with an error that is not about fencing. A job that has run recovers; another one ends, and whoever
// started it starts it again.
func (e *explorer) failed(p *process) {
	if !p.ran {
		p.count = 0
	}
	e.begin(p)
}

// resolve decides what to begin with.
func (e *explorer) resolve(s *state, i uint8, m move) {
	f := e.found()
	p := &s.procs[i]
	q := resolveQuestion{flags: p.flags, last: p.at, group: p.group}
	q.last.begins = false
	if p.ran {
		q.flags = 0 // the process has carried it out, or has met somebody who did
	}
	if e.Departure == RepeatsFrom && p.flags == 1 {
		q.last.from = false
	}
	a := e.real.resolve(q)
	if a.kind == checkpoint.ResolvedRefuse && p.misled {
		e.failed(p) // a refusal is not believed before it was asked for again
		e.emit(m, s, f)
		return
	}
	if a.kind == checkpoint.ResolvedRefuse {
		p.reset()
		p.pc, p.ran = refused, false
		if !s.lost {
			f.add(Refusal, "a start is refused because records of the checkpoint topic are lost, and none are")
		}
		e.emit(m, s, f)
		return
	}
	p.began, p.group = p.at.id, 0
	p.at = a.at
	if e.Departure == IDsGoBack && a.kind == checkpoint.ResolvedSavepoint {
		p.at.id = savepointID
	}
	e.resolved(*s, i, m)
	if a.kind == checkpoint.ResolvedFirst && e.Latest {
		p.at.in = 1
		e.resolved(*s, i, m)
	}
	if e.Departure == IDLeftOut {
		p.at.id++
		e.resolved(*s, i, m)
	}
}

// resolved goes on to the attempt's first checkpoint.
func (e *explorer) resolved(s state, i uint8, m move) {
	f := e.found()
	p := &s.procs[i]
	p.sent, p.pc = p.at.in, beginning
	m.b = p.at.in
	if e.Departure == NoFirstCheckpoint {
		e.runs(&s, p, &f)
	}
	e.emit(m, &s, f)
}

// runs lets a process read and write from now on.
func (e *explorer) runs(s *state, p *process, f *found) {
	p.pc, p.ran = running, true
	if p.at.begins && !p.at.from {
		if s.started != 0 && s.started != p.at.in+1 {
			f.add(Once, "the offset to start at is resolved a second time, to another one: what lies between is read twice or never")
		}
		s.started = p.at.in + 1
	}
}

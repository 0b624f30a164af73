package model

// running makes the moves of a process whose attempt reads and writes.
func (e *explorer) running(s *state, i uint8) {
	p := &s.procs[i]
	e.send(s, i)
	var prepared uint8
	for j := range p.flight {
		if p.sent >= p.bars[j] {
			prepared |= 1 << j
		}
	}
	want := e.real.coordinator(coordQuestion{committed: p.at.id, flight: p.flight, prepared: prepared})
	if want.trigger {
		// The barrier stands anywhere behind what was sent: sources read ahead of the sink. With nothing new there is none.
		last := p.at.in
		if p.flight > 0 {
			last = p.bars[p.flight-1]
		}
		for b := max(p.sent, last+1); b <= e.Records; b++ {
			n := *s
			q := &n.procs[i]
			q.bars[q.flight] = b
			q.flight++
			e.emit(move{trigger, i, p.at.id + p.flight + 1, b}, &n, e.found())
		}
	}
	switch {
	case p.step == 1:
		e.commit(s, i, p.committing, p.bars[p.committing])
	case e.Departure == OutOfOrderCommit:
		for j := range p.flight {
			if prepared>>j&1 == 1 && p.done>>j&1 == 0 {
				e.commit(s, i, j, p.bars[j])
			}
		}
	case want.commit:
		e.commit(s, i, 0, p.bars[0])
	}
	if e.Departure == SkipAfterBarrier && p.flight > 0 && p.step == 0 {
		n := *s
		q := &n.procs[i]
		n.last.id = max(n.last.id, q.at.id+1) // not a question of IDs here
		q.shift()
		e.emit(move{giveUpCheckpoint, i, q.at.id, 0}, &n, e.found())
	}
	if e.idle(p)&^p.owned != 0 {
		n := *s
		n.procs[i].pc = asking
		e.emit(move{noticeTaken, i, 0, 0}, &n, e.found())
	}
}

// shift lets go of the oldest checkpoint in flight: it is the last committed one now.
func (p *process) shift() {
	p.at = pointer{id: p.at.id + 1, in: p.bars[0], from: p.at.from}
	copy(p.bars[:], p.bars[1:])
	p.bars[2] = 0
	p.flight--
}

// send sends the next record to the output, in the transaction of its checkpoint, and gets it acknowledged.
func (e *explorer) send(s *state, i uint8) {
	p := &s.procs[i]
	if p.sent < e.Records {
		e.sendRecord(s, i, p.sent)
	}
	if e.Departure == OutOfOrderSend && p.flight > 0 && p.sent < p.bars[0] && p.bars[0] < e.Records && p.done>>p.bars[0]&1 == 0 {
		e.sendRecord(s, i, p.bars[0])
	}
}

func (e *explorer) sendRecord(s *state, i, record uint8) {
	p := &s.procs[i]
	id := p.at.id + 1
	for j := range p.flight {
		if record >= p.bars[j] {
			id++
		}
	}
	if e.Departure == IntoTransaction && id == p.at.id+p.flight+1 && p.flight > 0 {
		id--
	}
	k := e.slotOf(p, id)
	if !e.mayWrite(s, i, k) {
		return
	}
	n := *s
	q := &n.procs[i]
	if !n.produce(k, record) {
		e.cramped = true
		return
	}
	if e.Departure == OutOfOrderSend {
		q.done |= 1 << record
		for q.done>>q.sent&1 == 1 {
			q.sent++
		}
	} else {
		q.sent++
	}
	e.emit(move{sendRecord, i, record, id}, &n, e.found())
	e.delayed(s, i, k, message{kind: produceRecord, record: record}, id)
}

// mayWrite reports whether a process can write into a slot's transaction. If it is fenced, the move that follows is made here.
func (e *explorer) mayWrite(s *state, i, k uint8) bool {
	p := &s.procs[i]
	settling := s.slots[k].txn == prepareCommit || s.slots[k].txn == prepareAbort
	if p.owned>>k&1 == 1 {
		return !settling // else the broker says to try again
	}
	lazily := e.Departure == NotEverySlotFenced && k == 3 && p.fenced>>k&1 == 0
	if e.Departure == QuietNewEpoch && p.pc == running || lazily {
		if !settling {
			n := *s
			if n.fence(k) {
				n.procs[i].owned |= 1 << k
				n.procs[i].fenced |= 1 << k
			}
			e.emit(move{reinit, i, k, 0}, &n, e.found())
		}
		return false
	}
	n := *s
	n.procs[i].ended()
	e.emit(move{writeFenced, i, k, 0}, &n, e.found())
	return false
}

// ended is the end of an attempt that was fenced, or that does not know what became of a commit.
func (p *process) ended() {
	if p.pc == running {
		p.pc = asking
		return
	}
	p.forget()
	p.pc = deciding
}

// forget drops what a decision after the end of an attempt does not need.
func (p *process) forget() {
	*p = process{pc: p.pc, flags: p.flags, pool: p.pool, ran: p.ran, first: p.first, taken: p.taken, mine: p.mine, count: p.count, began: p.began,
		at: pointer{id: p.at.id}}
}

// delayed leaves a request on its way. Its sender waits in vain, and the attempt ends.
func (e *explorer) delayed(s *state, i, k uint8, m message, id uint8) {
	if s.network == 0 || s.late[k].kind != nothing {
		return
	}
	n := *s
	n.network--
	n.late[k] = m
	p := &n.procs[i]
	e.failed(p)
	e.emit(move{writeDelayed, i, m.kind, id}, &n, e.found())
}

// commit takes a checkpoint from prepared to committed: the pointer and the offsets in one step, EndTxn in another.
func (e *explorer) commit(s *state, i, j, in uint8) {
	p := &s.procs[i]
	id := p.at.id + 1 + j
	k := e.slotOf(p, id)
	if p.step == 1 {
		e.endTransaction(s, i, id, k)
		return
	}
	if !e.mayWrite(s, i, k) {
		return
	}
	n, f := *s, e.found()
	q := &n.procs[i]
	ptr := pointer{id: id, in: in, from: p.at.from, begins: p.at.begins}
	q.step, q.committing = 1, j
	of := k
	if e.Departure == PointerOutside {
		of = committed
		n.group = id
		e.pointerCommitted(&n, ptr, &f)
		if p.pc == beginning && !ptr.begins && in != n.expected {
			f.add(Output, "the pointer is past results that nobody has committed: they are lost")
		}
		e.dense(&n, ptr, &f)
	} else {
		n.slots[k] = slot{txn: open, ptr: ptr, group: id}
	}
	if !n.append(of, ptr, q) {
		e.cramped = true
		return
	}
	e.emit(move{writePointer, i, id, k}, &n, f)
	e.delayed(s, i, k, message{kind: producePointer, ptr: ptr}, id)
}

// endTransaction asks for the commit. The request is sent once; without an answer the attempt ends.
func (e *explorer) endTransaction(s *state, i, id, k uint8) {
	p := &s.procs[i]
	empty := e.Departure == PointerOutside && s.slots[k].txn == none
	if p.owned>>k&1 == 0 || s.slots[k].txn != open && !empty {
		n := *s
		n.procs[i].ended()
		e.emit(move{writeFenced, i, k, 1}, &n, e.found())
		return
	}
	if p.pc == beginning && e.looksAgain() && !e.lookAgain(s, i, k) {
		return
	}
	done, f := *s, e.found()
	if !empty {
		e.end(&done, k, &f)
	}
	if e.TransactionVersion >= 2 {
		done.late[k] = message{}
	}
	ok, okFound := done, f
	e.committed(&ok, &ok.procs[i], &okFound)
	e.emit(move{commitOK, i, id, k}, &ok, okFound)
	if s.network == 0 {
		return
	}
	unknown := func(n state, m kind, f found) {
		n.network--
		if e.Departure == LostAnswerIsSuccess {
			e.committed(&n, &n.procs[i], &f)
		} else {
			n.procs[i].ended()
		}
		e.emit(move{m, i, id, k}, &n, f)
	}
	unknown(*s, commitRequestLost, e.found())
	lost := done
	if e.TransactionVersion >= 2 {
		lost.bump(k) // to an epoch that only the answer names
	}
	unknown(lost, commitAnswerLost, f)
	if s.late[k].kind == nothing {
		late := *s
		late.late[k] = message{kind: endTransaction}
		unknown(late, commitDelayed, e.found())
		if e.Departure == CommitRetried && e.TransactionVersion < 2 {
			ok.network--
			ok.late[k] = message{kind: endTransaction}
			e.emit(move{commitTwice, i, id, k}, &ok, okFound)
		}
	}
}

// looksAgain reports whether an attempt looks, before its first commit, whether the pointer that it began from was the last. A
// pointer that was read before the fencing would be found out by that too.
func (e *explorer) looksAgain() bool {
	return e.Departure != LooksOnce && e.Departure != PointerOutside && e.Departure != PointerBeforeFencing
}

// lookAgain reads what is committed before the attempt's own pointer. It waits until everything there is decided. Only the
// node that leads has the own pointer, so this read is never an old one. It reports whether the commit may be asked for.
func (e *explorer) lookAgain(s *state, i, k uint8) bool {
	for own := range s.nlog {
		if s.log[own].of != k {
			continue
		}
		if s.stable() < own {
			e.giveUpWaiting(s, i)
			return false
		}
		if last := s.lastBelow(own); last >= 0 && s.log[last].ptr.id != s.procs[i].began {
			n := *s
			e.failed(&n.procs[i])
			e.emit(move{lookAgain, i, s.log[last].ptr.id, 0}, &n, e.found())
			return false
		}
	}
	return true // if the topic lost the own pointer, there is nothing to see
}

// committed is what a process does with the answer that its commit is done.
func (e *explorer) committed(s *state, p *process, f *found) {
	p.step, p.first = 0, true
	if e.Departure == SlotPerProcess {
		p.count = (p.count + 1) % slots
	}
	if p.pc == beginning {
		e.runs(s, p, f)
		p.at = pointer{id: p.at.id + 1, in: p.at.in, from: p.at.from}
		return
	}
	if e.Departure == OutOfOrderCommit {
		p.done |= 1 << p.committing
		p.committing = 0
		for p.done&1 == 1 {
			p.shift()
			p.done >>= 1
		}
		return
	}
	p.shift()
}

// idle are the slots in which the attempt, as far as it knows, has no transaction open.
func (e *explorer) idle(p *process) uint8 {
	idle := e.every(p)
	from := p.at.in
	for j := range p.flight + 1 {
		if p.sent > from || p.step == 1 && p.committing == j {
			idle &^= 1 << e.slotOf(p, p.at.id+1+j)
		}
		if j < p.flight {
			from = p.bars[j]
		}
	}
	return idle
}

package model

import "fmt"

// tell says in words what a move is.
func (e *explorer) tell(before *state, n next) string {
	m := n.move
	if m.p == broker {
		return "broker: " + e.tellBroker(before, m)
	}
	return fmt.Sprintf("%c %s", 'A'+m.p, e.tellProcess(before, n))
}

func (e *explorer) tellProcess(before *state, n next) string {
	m := n.move
	p := &n.state.procs[m.p]
	switch m.kind {
	case fenceSlot, fenceSlotCopied:
		text := fmt.Sprintf("fences slot %d", m.a)
		if was := &before.procs[m.p]; was.fenced == 0 && was.pc == fencing && e.Departure != PointerBeforeFencing {
			text = "begins an attempt" + [2]string{"", " (--from)"}[p.flags] + ": it " + text
		}
		if m.b == open {
			text += ": the open transaction there is aborted"
		}
		if m.kind == fenceSlotCopied {
			text += "; a copy of the request is still under way"
		}
		return text + begins(p)
	case readGroup:
		return fmt.Sprintf("reads the group's offset: %s", id(m.a)) + begins(p)
	case takeEnd:
		return fmt.Sprintf("takes the end of the checkpoint partition")
	case readPointer:
		return "reads the last pointer: " + id(m.a) + begins(p)
	case readOldGroup:
		return fmt.Sprintf("reads the group's offset from a node that leads no more: %s", id(m.a)) + begins(p)
	case readOldPointer:
		return "reads the last pointer from a node that leads no more: " + id(m.a) + begins(p)
	case lookAgain:
		return fmt.Sprintf("looks again before its first commit: %s is there. The attempt ends", id(m.a))
	case writePointer:
		return fmt.Sprintf("writes the pointer of checkpoint %d and the offsets into slot %d", m.a, m.b)
	case commitOK:
		return fmt.Sprintf("commits checkpoint %d in slot %d", m.a, m.b)
	case commitTwice:
		return fmt.Sprintf("commits checkpoint %d in slot %d, by the second request; the first is still under way", m.a, m.b)
	case commitRequestLost:
		return fmt.Sprintf("asks to commit checkpoint %d in slot %d: the request is lost", m.a, m.b)
	case commitAnswerLost:
		return fmt.Sprintf("commits checkpoint %d in slot %d: the answer is lost", m.a, m.b)
	case commitDelayed:
		return fmt.Sprintf("asks to commit checkpoint %d in slot %d: the request is still under way when it gives up", m.a, m.b)
	case writeDelayed:
		return fmt.Sprintf("writes %s of checkpoint %d: the request is still under way when it gives up", [...]string{"", "a record", "the pointer"}[m.a], m.b)
	case writeFenced:
		if m.b == 1 {
			return fmt.Sprintf("asks to commit in slot %d: fenced", m.a)
		}
		return fmt.Sprintf("writes into slot %d: fenced", m.a)
	case sendRecord:
		return fmt.Sprintf("writes the result of record %d into the transaction of checkpoint %d", m.a, m.b)
	case trigger:
		return fmt.Sprintf("triggers checkpoint %d: its barrier stands before record %d", m.a, m.b)
	case giveUpCheckpoint:
		return fmt.Sprintf("gives checkpoint %d up and goes on", m.a)
	case askTaken:
		if m.a == 1 {
			return "asks who has its idle slots: another process"
		}
		return "asks who has its idle slots: nobody else"
	case noticeTaken:
		return "notices that it is fenced"
	case decide, watchOver:
		text := "reads the last pointer: " + id(m.a)
		if m.b == 1 {
			text += ", its own"
		}
		if m.kind == watchOver {
			text = "has waited long enough; it " + text
		}
		return text + ": " + map[uint8]string{watching: "it waits for another process", takenOver: "it stops"}[p.pc] +
			map[bool]string{true: "it recovers"}[p.pc != watching && p.pc != takenOver]
	case giveUpWaiting:
		return "has waited for an open transaction until its deadline: the attempt ends"
	case crash:
		return "crashes"
	case reinit:
		return fmt.Sprintf("gets a new epoch for slot %d", m.a)
	}
	return "?"
}

// begins says what a recovery has come to.
func begins(p *process) string {
	switch p.pc {
	case refused:
		return ": the start is refused"
	case beginning, running:
		if p.at.begins {
			return fmt.Sprintf("; it begins a lineage at record %d, with checkpoint %d", p.at.in, p.at.id+1)
		}
		return fmt.Sprintf("; it goes on at record %d, with checkpoint %d", p.at.in, p.at.id+1)
	}
	return ""
}

func id(n uint8) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("checkpoint %d", n)
}

func (e *explorer) tellBroker(before *state, m move) string {
	switch m.kind {
	case markers:
		if before.slots[m.a].txn == prepareCommit {
			return fmt.Sprintf("the markers of the commit in slot %d are written", m.a)
		}
		return fmt.Sprintf("the markers of the abort in slot %d are written", m.a)
	case arrive:
		return fmt.Sprintf("the delayed %s arrives in slot %d", [...]string{"", "record", "pointer", "commit"}[m.b], m.a)
	case arriveInit:
		return fmt.Sprintf("a delayed request fences slot %d", m.a)
	case timeOut:
		return fmt.Sprintf("the transaction in slot %d times out and is aborted", m.a)
	case strangerBegins:
		return "somebody else's transaction is open on the checkpoint partition"
	case strangerEnds:
		return "somebody else's transaction ends"
	case loseTopic:
		return "the checkpoint topic is deleted and made again"
	}
	return "?"
}

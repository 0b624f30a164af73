package model

// The sizes of a state. They are limits of the representation; the bounds of a search are in [Config].
const (
	maxProcesses = 3
	maxLog       = 8
	maxOut       = 8
	slots        = 4
)

// pointer is a record of the checkpoint topic: what of it the protocol looks at. The zero value is no pointer.
type pointer struct {
	id uint8
	// in is the offset in the input that the checkpoint stands at.
	in uint8
	// from: the lineage began with --from. begins: this pointer begins the lineage.
	from, begins bool
}

// What a record of a log belongs to: the transaction of slot 0 to 3, or one of these.
const (
	committed uint8 = 4
	stranger  uint8 = 5 // somebody else's transaction
)

// entry is a record of the checkpoint partition. Aborted ones are taken out: no read sees them.
type entry struct {
	of  uint8
	ptr pointer
}

// result is a record of the output partition: the number of the input record that it came from.
type result struct {
	of, record uint8
}

// The states of a slot's transaction at the broker. The decision is made (prepare) before the markers are in the logs.
const (
	none uint8 = iota
	open
	prepareCommit
	prepareAbort
)

type slot struct {
	txn uint8
	// ptr is the pointer that was written, also if the topic has lost it since. group is the checkpoint ID that the group gets
	// if the transaction commits, 0 for no offset.
	ptr   pointer
	group uint8
}

// What a delayed request is. The sender does not wait for it any more. It has the current epoch of its slot: one with an older
// epoch has no effect and is not kept.
const (
	nothing uint8 = iota
	produceRecord
	producePointer
	endTransaction
)

type message struct {
	kind, record uint8
	ptr          pointer
}

// Where a process is in its program.
const (
	fencing uint8 = iota // with no slot fenced yet: down, or between two attempts
	readingGroup
	takingEnd
	readingPointer
	beginning // commits its first checkpoint
	running
	asking   // fenced, or a commit without an answer: asks who has its idle slots
	deciding // reads the last pointer and decides
	watching // waits for the first checkpoint of another process
	takenOver
	refused
)

// process is one process of the job, with its attempt. Nothing else in a state refers to it, so that two processes may
// change places: what other parts of the protocol know by an attempt's name or by an epoch is a bit in here.
type process struct {
	pc uint8
	// flags are given to the process by whoever starts it: 1 for --from. pool is its number of slots.
	flags, pool uint8
	// ran: an attempt of this process has run, so that failures restart it. first: the attempt's first checkpoint is known to
	// be committed. taken: another process has fenced an idle slot.
	ran, first, taken bool
	// owned are the slots whose current epoch is the attempt's; fenced those that it has fenced.
	owned, fenced uint8
	// mine are the records of the checkpoint partition that the attempt wrote, by index in the log.
	mine uint8
	// end is the end of the checkpoint partition as it was taken; group the ID that the group had.
	end, group uint8
	// began is the last committed checkpoint when the attempt began.
	began uint8
	// count is of a departure: the checkpoints that this process has committed, modulo the number of slots.
	count uint8
	// misled: a node that leads no more has answered the attempt. The process does not know it.
	misled bool
	// at is the last committed pointer as the attempt knows it.
	at pointer
	// sent is the next record to send. bars are the offsets of the barriers of the checkpoints in flight, oldest first.
	sent, flight uint8
	bars         [3]uint8
	// committing is the index in bars of the checkpoint whose pointer is written, if step is 1.
	committing, step uint8
	done             uint8 // of a departure: committed out of order, by index
}

// state is everything: the broker, the network, the processes, and what the properties compare with.
type state struct {
	slots [slots]slot
	log   [maxLog]entry
	out   [maxOut]result
	nlog  uint8
	nout  uint8
	// group is the checkpoint ID that the group has.
	group uint8
	// late is one delayed request a slot; lateInit are the slots for which a delayed InitProducerID is under way.
	late     [slots]message
	lateInit uint8
	procs    [maxProcesses]process

	// What faults are left.
	crashes, network, timeouts, strangers, losses, stale uint8

	// What the properties know and no process does: the last committed pointer, the record that a reader has to see next, how
	// often --from was carried out, the resolved start offset plus 1, and whether the checkpoint topic lost records.
	last     pointer
	expected uint8
	carried  uint8
	started  uint8
	lost     bool
}

func (p *process) reset() {
	*p = process{pc: p.pc, flags: p.flags, pool: p.pool, ran: p.ran, count: p.count}
}

// undecided reports whether the record is in a transaction without markers.
func (e entry) undecided() bool { return e.of != committed }

// stable is the last stable offset of the checkpoint partition: the index of the first undecided record.
func (s *state) stable() uint8 {
	for i := range s.nlog {
		if s.log[i].undecided() {
			return i
		}
	}
	return s.nlog
}

// lastBelow returns the index of the last committed pointer below an offset, -1 if there is none.
func (s *state) lastBelow(end uint8) int {
	for i := int(min(end, s.nlog)) - 1; i >= 0; i-- {
		if s.log[i].of == committed {
			return i
		}
	}
	return -1
}

// remove takes a record out of the checkpoint partition, with everything that counts records.
func (s *state) remove(i uint8) {
	copy(s.log[i:], s.log[i+1:s.nlog])
	s.nlog--
	s.log[s.nlog] = entry{}
	for k := range s.procs {
		p := &s.procs[k]
		if p.end > i {
			p.end--
		}
		below := uint8(1)<<i - 1
		p.mine = p.mine&below | p.mine>>1&^below
	}
}

// trim forgets committed pointers that no read can return any more: the next is committed too, and no process reads up to
// between the two. A node that leads no more may know one as the last, as long as there may be such a node.
func (s *state) trim() {
	if s.stale > 0 {
		return
	}
	for i := int(s.nlog) - 2; i >= 0; i-- {
		if s.log[i].of != committed || s.log[i+1].of != committed {
			continue
		}
		between := false
		for k := range s.procs {
			between = between || s.procs[k].end == uint8(i+1)
		}
		if !between {
			s.remove(uint8(i))
		}
	}
}

func (s *state) append(of uint8, ptr pointer, by *process) bool {
	if s.nlog == maxLog {
		return false
	}
	s.log[s.nlog] = entry{of, ptr}
	if by != nil {
		by.mine |= 1 << s.nlog
	}
	s.nlog++
	return true
}

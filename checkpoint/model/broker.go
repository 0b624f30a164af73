package model

// Here is what the broker does, and what the properties say at each commit. Every function is one step: it happens whole.

// fence gives a slot a new epoch, for whoever asks (InitProducerID). It reports false while the transaction there is not
// settled: the broker answers CONCURRENT_TRANSACTIONS then, and is asked again. An open transaction is aborted, and the
// epoch goes up, before the answer is that.
func (s *state) fence(i uint8) (done bool) {
	switch s.slots[i].txn {
	case prepareCommit, prepareAbort:
		return false
	}
	s.bump(i)
	if s.slots[i].txn == open {
		s.abort(i)
		return false
	}
	return true
}

// bump ends every epoch of a slot: its owner is fenced, and what it has sent and is under way comes to nothing.
func (s *state) bump(i uint8) {
	for k := range s.procs {
		s.procs[k].owned &^= 1 << i
	}
	s.late[i] = message{}
}

// abort decides that the open transaction of a slot is aborted. Its output will not be seen; the marker in the checkpoint
// partition is still to come.
func (s *state) abort(i uint8) {
	s.slots[i] = slot{txn: prepareAbort}
	n := uint8(0)
	for _, r := range s.out[:s.nout] {
		if r.of != i {
			s.out[n] = r
			n++
		}
	}
	clear(s.out[n:s.nout])
	s.nout = n
	s.trimOut()
}

// mark writes the markers of a decided transaction, and what follows from them.
func (s *state) mark(i uint8) {
	commit := s.slots[i].txn == prepareCommit
	for k := int(s.nlog) - 1; k >= 0; k-- {
		switch {
		case s.log[k].of != i:
		case commit:
			s.log[k].of = committed
		default:
			s.remove(uint8(k))
		}
	}
	if s.slots[i].group != 0 && commit {
		s.group = s.slots[i].group
	}
	s.slots[i] = slot{}
}

// produce appends an output record in a slot's transaction.
func (s *state) produce(i, record uint8) bool {
	if s.nout == maxOut {
		return false
	}
	s.slots[i].txn = open
	s.out[s.nout] = result{i, record}
	s.nout++
	return true
}

// trimOut forgets the committed results at the head of the output: they are compared already, and nothing comes before them.
func (s *state) trimOut() {
	n := uint8(0)
	for n < s.nout && s.out[n].of == committed {
		n++
	}
	copy(s.out[:], s.out[n:s.nout])
	clear(s.out[s.nout-n : s.nout])
	s.nout -= n
}

// violation is a property that does not hold, and how.
type violation struct {
	property Property
	text     string
}

// found collects violations; those that are not looked for are left out.
type found struct {
	only Property
	violation
}

func (f *found) add(p Property, text string) {
	if f.property == 0 && (f.only == 0 || f.only == p) {
		f.violation = violation{p, text}
	}
}

// end commits the open transaction of a slot (EndTxn). From here on the outcome stands, and here it is compared.
func (c *Config) end(s *state, i uint8, f *found) {
	var ptr pointer
	pointers := 0
	for _, e := range s.log[:s.nlog] {
		if e.of == i {
			ptr = e.ptr
			pointers++
		}
	}
	if pointers == 0 && s.lost && s.slots[i].ptr.id != 0 {
		// The topic was deleted under it. The checkpoint is committed all the same.
		ptr, pointers = s.slots[i].ptr, 1
	}
	switch {
	case c.Departure == PointerOutside:
		c.compare(s, i, ^uint8(0), f)
	case pointers != 1:
		f.add(Output, "a transaction without its pointer is committed: its output exists, and no checkpoint knows of it")
		c.compare(s, i, ^uint8(0), f)
	default:
		c.pointerCommitted(s, ptr, f)
		c.compare(s, i, ptr.in, f)
		if s.slots[i].group != ptr.id {
			f.add(Group, "the group's offset is not that of the pointer")
		}
		c.dense(s, ptr, f)
	}
	s.slots[i].txn = prepareCommit
	for k := range s.out[:s.nout] {
		if s.out[k].of == i {
			s.out[k].of = committed
		}
	}
	s.trimOut()
}

// pointerCommitted keeps the books of lineages.
func (c *Config) pointerCommitted(s *state, ptr pointer, f *found) {
	if !ptr.begins {
		return
	}
	s.expected = ptr.in
	if ptr.from {
		if s.carried++; s.carried > 1 {
			f.add(Once, "--from is carried out a second time: what was committed since is given up and computed again")
		}
	} else if s.last != (pointer{}) {
		f.add(Output, "a job that has run begins as if for the first time")
	}
}

// dense is rule 2.
func (c *Config) dense(s *state, ptr pointer, f *found) {
	switch {
	case ptr.id == s.last.id:
		f.add(Dense, "a checkpoint is committed twice")
	case ptr.id < s.last.id:
		f.add(Dense, "checkpoint IDs go back")
	case ptr.id > s.last.id+1:
		f.add(Dense, "a checkpoint ID is left out")
	}
	s.last = ptr
}

// compare is the comparison with the plain loop: the results in a transaction are those that come next, up to where the
// pointer stands (to: any if it is the greatest number). It returns where they end.
func (c *Config) compare(s *state, i, to uint8, f *found) uint8 {
	behind := false
	seen, next := false, s.expected
	for _, r := range s.out[:s.nout] {
		switch {
		case r.of == committed:
			behind = behind || seen
		case r.of == i:
			seen = true
			switch {
			case r.record < next:
				f.add(Output, "a result is committed a second time")
			case r.record > next:
				f.add(Output, "a result is left out: it is lost")
			}
			next = r.record + 1
		}
	}
	switch {
	case behind:
		f.add(Output, "a reader sees results of a checkpoint before those of the one before it")
	case to != ^uint8(0) && next < to:
		f.add(Output, "the pointer is past results that nobody has committed: they are lost")
	case to != ^uint8(0) && next > to:
		f.add(Output, "the pointer is behind what is committed: it will come again")
	}
	s.expected = next
	return next
}

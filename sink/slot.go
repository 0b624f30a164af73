package sink

import (
	"sync"
	"time"
)

// slot is one transactional producer of the shard and the transaction that it has open, if any. Its fields belong to the
// lock of the Transactions.
type slot struct {
	// name is the transactional ID.
	name string
	// producer and epoch are of our own fencing, or what a commit answered; nothing else is ever used. A new generation means
	// that they have changed, and that sequences begin at 0 again.
	producer   int64
	epoch      int16
	generation int
	fenced     bool
	// before is what the coordinator said before the fencing.
	before ending
	// checkpoint is the one that uses the slot now; 0 if none does.
	checkpoint int64
	// began is when the transaction got its first record or offset, on the steady clock; zero if it has none.
	began time.Time
	// pending counts batches that are queued and not acknowledged; drained, if not nil, is closed when there are none.
	pending int
	drained chan struct{}
	// pointer is the offset of the pointer record, -1 before it is acknowledged; offsets says that the group's offsets are in.
	pointer int64
	offsets bool
	// adding orders AddPartitionsToTxn requests (transaction.version below 2): the coordinator takes one at a time.
	adding sync.Mutex
}

// identity is what a request in the name of a slot needs.
type identity struct {
	name     string
	producer int64
	epoch    int16
}

func (s *slot) identity() identity { return identity{s.name, s.producer, s.epoch} }

// renew takes over what InitProducerID or a commit answered. Sequences go on if nothing changed.
func (s *slot) renew(producer int64, epoch int16) {
	if producer != s.producer || epoch != s.epoch || !s.fenced {
		s.generation++
	}
	s.producer, s.epoch, s.fenced = producer, epoch, true
}

// end forgets the transaction.
func (s *slot) end() {
	s.checkpoint, s.began, s.pending, s.pointer, s.offsets = 0, time.Time{}, 0, -1, false
}

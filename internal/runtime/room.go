package runtime

import (
	"context"
	"time"

	"github.com/weirstream/weir/operators"
)

// Live state has a share of the memory budget, and each subtask with state has its part of that. Where it has more, it evicts a
// little after each message, in proportion to what the message may have brought in, so that neither a record nor a barrier
// ever waits for a long walk. What the store does not have yet cannot go. So a base is begun before too little can
// (memoryDue), and a subtask that is far over its part waits while one is written.

const (
	// stepEvents is after how many events a subtask makes room at the latest.
	stepEvents = 256
	// looksPerEvent is how many entries an eviction looks at for each event: enough to drop two where one in eight can go.
	looksPerEvent = 16
	// looksInHaste is the same once a subtask has an eighth more than its part.
	looksInHaste = 4 * looksPerEvent
)

// share is the bytes that the live maps of all subtasks may have. An eighth of the budget is Pebble's cache, and up to a
// twentieth is for knowing which keys Pebble has; the rest is for writing bases, for the changes since the last one, and for
// the collector, which has to walk over all of this the more often, the less of it is free: with three eighths of the budget it
// ran twice as often as with five sixteenths, once most state was cold.
func (a *attempt) share() int64 { return int64(a.cfg.Checkpoint.Memory) / 16 * 5 }

// evict makes the live maps of the chain smaller, if together they have more than budget bytes, with so much work as is fit
// after so many events. It reports whether they have an eighth more and most of it cannot go.
func (c *chain) evict(budget int64, events int) (stuck bool) {
	if c.tables == nil {
		c.tables = []operators.Table{}
		for _, s := range c.stages {
			c.tables = append(c.tables, s.ctx.Tables()...)
		}
	}
	if len(c.tables) == 0 {
		return false
	}
	total := c.stateBytes()
	excess := total - budget
	if excess <= 0 {
		return false
	}
	looks := looksPerEvent * events
	if excess > budget/8 {
		looks = looksInHaste * events
	}
	var stay int64
	for _, t := range c.tables {
		bytes := t.Bytes()
		if t.Evict(bytes-int64(float64(bytes)/float64(total)*float64(excess)), looks) {
			stay += bytes
		}
	}
	return excess > budget/8 && stay > total/2
}

func (c *chain) stateBytes() (total int64) {
	for _, t := range c.tables {
		total += t.Bytes()
	}
	return total
}

// told is the size of the live maps at the last barrier, in bytes.
func (c *chain) told() (total int64) {
	for _, s := range c.stages {
		total += s.metrics.StateBytes.Load()
	}
	return total
}

// tell publishes the size of the live maps.
func (c *chain) tell() {
	for _, s := range c.stages {
		entries, bytes := int64(0), int64(0)
		for _, t := range s.ctx.Tables() {
			entries += int64(t.Entries())
			bytes += t.Bytes()
		}
		s.metrics.StateEntries.Store(entries)
		s.metrics.StateBytes.Store(bytes)
	}
}

// makeRoom is called after every message, with the number of its events. If nothing helps but a base, and one is being
// written, it waits for it: but between two barriers only for a part of what a checkpoint may take.
func (s *subtask) makeRoom(events int) error {
	if !s.chain.evict(s.a.budget, events) {
		return nil
	}
	written := s.a.writing.Load()
	left := s.a.cfg.Checkpoint.Timeout/4 - s.chain.waited
	if written == nil || left <= 0 {
		return nil
	}
	began := time.Now()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-*written:
	case <-timer.C:
	case <-s.a.ctx.Done():
		return context.Cause(s.a.ctx)
	}
	s.chain.waited += time.Since(began)
	return nil
}

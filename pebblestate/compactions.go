package pebblestate

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// compactions lets Pebble compact, one compaction at a time, but none before the state is open. Pebble's own scheduler may let one
// begin while the database is being opened, and the opening waits for the end of it, however large it is (DB.scanObsoleteFiles in
// v2.1.7): a recovery of 20 M keys sometimes took seconds instead of half a second.
type compactions struct {
	mu      sync.Mutex
	changed *sync.Cond
	db      pebble.DBForCompaction // nil before Register
	// open: compactions may begin; gone: no more may, and db is not called any more.
	open, gone bool
	// busy: one runs, or is being offered. refused: one was refused since it was last offered.
	busy, refused bool
	// calling: db is being called.
	calling bool
}

func newCompactions() *compactions {
	c := &compactions{}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// begin lets compactions begin.
func (c *compactions) begin() {
	c.mu.Lock()
	c.open = true
	c.mu.Unlock()
	c.offer()
}

// offer asks Pebble whether it has anything to compact, if nothing is being compacted.
func (c *compactions) offer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.calling {
		c.changed.Wait()
	}
	if c.db == nil || !c.open || c.gone || c.busy {
		return
	}
	c.calling = true
	for again := true; again && !c.gone; {
		c.busy, c.refused = true, false
		c.mu.Unlock() // Pebble's locks come first
		waiting, _ := c.db.GetWaitingCompaction()
		taken := waiting && c.db.Schedule(c)
		c.mu.Lock()
		if !taken {
			c.busy = false
		}
		again = !taken && c.refused
	}
	c.calling = false
	c.changed.Broadcast()
}

// Register implements pebble.CompactionScheduler.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.db = db
}

// Unregister implements pebble.CompactionScheduler.
func (c *compactions) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for c.calling {
		c.changed.Wait()
	}
}

// TrySchedule implements pebble.CompactionScheduler. What is not let begin is offered later.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || c.gone || c.busy {
		c.refused = true
		return false, nil
	}
	c.busy = true
	return true, c
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler: it is one always.
func (c *compactions) UpdateGetAllowedWithoutPermission() {}

// Done implements pebble.CompactionGrantHandle: a compaction has ended.
func (c *compactions) Done() {
	c.mu.Lock()
	c.busy = false
	c.mu.Unlock()
	c.offer()
}

// Started, MeasureCPU and CumulativeStats implement pebble.CompactionGrantHandle.
func (c *compactions) Started()                                          {}
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind)         {}
func (c *compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}

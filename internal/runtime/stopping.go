package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/source"
)

// tryToStop is a request to stop that an attempt carries out.
type tryToStop struct {
	*stopping
	// copied tells what became of its savepoint.
	copied chan error
	// resumed says that the job goes on, and is to commit a checkpoint before anybody hears of it.
	resumed bool
}

var errDraining = errors.New("the job is being drained: there will be no savepoint but that of the stop")

// hold is the barrier at which every subtask stands still, until the attempt ends or goOn is closed.
type hold struct {
	checkpoint int64
	goOn       chan struct{}
}

// stopAsked begins with a request to stop, if there is one that is not carried out yet.
func (c *coordination) stopAsked() []checkpoint.Decision {
	j := c.a.job
	s := j.tryStop()
	if s == nil || c.stop != nil {
		return nil
	}
	failing := j.failed(s)
	switch {
	case failing != nil:
		if j.stopFailed(s, failing) {
			return nil
		}
		j.savepointSettled(s, failing) // it has to end all the same
	case s.Savepoint == "":
	case c.last:
		// The input has ended, so the job ends too.
		j.savepointSettled(s, errors.New("the job had begun its last checkpoint already: it is no savepoint"))
	default:
		err := c.busy(s.Savepoint)
		if err == nil && c.asked[s.Savepoint] != nil {
			err = fmt.Errorf("savepoint %s: it is asked for already, and the job is to go on after it: name another directory", s.Savepoint)
		}
		if err != nil {
			if j.stopFailed(s, err) {
				return nil
			}
			j.savepointSettled(s, err) // it has to end all the same
		} else {
			c.coord.LastSavepoint(s.Savepoint)
		}
	}
	c.stop = &tryToStop{stopping: s, copied: make(chan error, 1)}
	j.setPhase(Stopping)
	if s.Drain && failing == nil {
		c.drain()
		return nil
	}
	return c.coord.Stop(c.now())
}

// drain tells every source subtask that its input has ended. What its reader still brings is left unread; when all have
// ended, the last checkpoint follows as at any end of the input.
//
// Barriers that are sent already come before that end (see sourceSubtask.handle), and none follows until all have ended: what
// has fired early is in the last checkpoint only, which is marked.
func (c *coordination) drain() {
	c.coord.Draining()
	for dir, done := range c.asked {
		for _, d := range done {
			d <- errDraining
		}
		delete(c.asked, dir)
	}
	for _, r := range c.a.readers {
		c.a.group.Go(func() error {
			select {
			case r.events <- source.Event{Kind: source.EventEnd}:
			case <-c.a.ctx.Done():
			}
			return nil
		})
	}
}

// holdAt lets every subtask stand still at the barrier of the last checkpoint.
func (c *coordination) holdAt(checkpoint int64) {
	c.hold.Store(&hold{checkpoint, make(chan struct{})})
	if s := c.saving[checkpoint]; s != nil && c.stop != nil && s.dir == c.stop.Savepoint {
		s.done = append(s.done, c.stop.copied)
	}
}

// standsAt reports whether the subtasks stand still at a checkpoint's barrier, or are about to.
func (c *coordination) standsAt(checkpoint int64) bool {
	h := c.hold.Load()
	return h != nil && h.checkpoint == checkpoint
}

// stand is called by a subtask that has acknowledged a checkpoint.
func (c *coordination) stand(checkpoint int64) error {
	h := c.hold.Load()
	if h == nil || h.checkpoint != checkpoint {
		return nil
	}
	select {
	case <-h.goOn:
		return nil
	case <-c.a.ctx.Done():
		return context.Cause(c.a.ctx)
	}
}

// goesOn decides, when the last checkpoint is committed and nobody waits for a copy any more, whether the job ends. It does
// not if the savepoint that it was to stop with could not be written: then its subtasks go on where they stand, as if it had
// been any other checkpoint, and its next one, which the caller asks for, says that it does. Behind the end of its input, or if the process has to end, there is nothing to go on with.
func (c *coordination) goesOn() bool {
	if c.stop == nil || c.stop.Savepoint == "" {
		return false
	}
	var err error
	select {
	case err = <-c.stop.copied:
		c.a.job.savepointSettled(c.stop.stopping, err)
	default: // the last checkpoint was not to become that savepoint; why is known already
	}
	if err == nil || c.final || !c.a.job.failing(c.stop.stopping, err) {
		return false
	}
	c.stop.resumed, c.last, c.done = true, false, false
	c.coord.Resume(c.now())
	close(c.hold.Swap(nil).goOn)
	c.a.job.setPhase(Running)
	return true
}

// recorded ends what waited for a checkpoint: a stop that has failed, and savepoints that were given up.
func (c *coordination) recorded(id int64) []checkpoint.Decision {
	c.givenUp = slices.DeleteFunc(c.givenUp, func(g givenUp) bool {
		if g.checkpoint == 0 || g.checkpoint > id {
			return false
		}
		g.answer()
		return true
	})
	if c.stop == nil || !c.stop.resumed || c.last { // if the input has ended, the job ends too
		return nil
	}
	c.stop = nil
	signal(c.a.job.stops) // somebody may have asked again meanwhile
	return c.stopAsked()
}

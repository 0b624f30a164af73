package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/stream"
)

// Waits notes what a subtask waits for in its alignment ("the barrier of channel 2 (from views/5)"), for the message of a
// checkpoint that expires.
func (c *Coordinator) Waits(subtask stream.SubtaskID, checkpoint int64, what string) {
	if f := c.find(checkpoint); f != nil {
		if _, missing := f.missing[subtask]; missing {
			f.missing[subtask] = what
		}
	}
}

// Ack notes that a subtask has frozen its state for the checkpoint and forwarded the barrier; a sink, that everything
// before the barrier is on its way.
func (c *Coordinator) Ack(subtask stream.SubtaskID, checkpoint int64) []Decision {
	f := c.find(checkpoint)
	switch {
	case c.dead:
		return nil
	case f == nil:
		return c.fail(checkpoint, fmt.Errorf("subtask %s: acknowledged a checkpoint that is not under way", subtask))
	}
	if _, missing := f.missing[subtask]; !missing {
		return c.fail(checkpoint, fmt.Errorf("subtask %s: acknowledged twice, or unknown", subtask))
	}
	delete(f.missing, subtask)
	return c.settle(f)
}

// Persisted notes that the state of the checkpoint is stored, or small enough to go into the pointer.
func (c *Coordinator) Persisted(checkpoint int64) []Decision {
	return c.step(checkpoint, "persisted", func(f *inFlight) *bool { return &f.persisted })
}

// Prepared notes that every output record of the checkpoint is acknowledged by the brokers.
func (c *Coordinator) Prepared(checkpoint int64) []Decision {
	return c.step(checkpoint, "prepared", func(f *inFlight) *bool { return &f.prepared })
}

// Committed notes that the transaction of the checkpoint is known to be committed.
func (c *Coordinator) Committed(checkpoint int64, now time.Time) []Decision {
	if c.dead {
		return nil
	}
	if len(c.flight) == 0 || c.flight[0].id != checkpoint || !c.flight[0].commitAsked {
		return c.fail(checkpoint, errors.New("committed without having been asked for"))
	}
	f := c.flight[0]
	c.flight, c.committed, c.lastEnd = c.flight[1:], checkpoint, now
	out := []Decision{c.decision(DecideComplete, f)}
	if f.last {
		c.dead, c.done = true, true
		return append(out, Decision{Kind: DecideDone})
	}
	if len(c.flight) > 0 {
		out = append(out, c.settle(c.flight[0])...)
	}
	return append(out, c.Tick(now)...)
}

// Failed notes that a step of the checkpoint failed for good, or that the outcome of its commit is unknown. The attempt
// ends: the output of the checkpoint cannot move to another transaction.
func (c *Coordinator) Failed(checkpoint int64, err error) []Decision {
	if c.dead {
		return nil
	}
	return c.fail(checkpoint, err)
}

func (c *Coordinator) step(checkpoint int64, name string, flag func(*inFlight) *bool) []Decision {
	f := c.find(checkpoint)
	switch {
	case c.dead:
		return nil
	case f == nil || !f.ready || *flag(f):
		return c.fail(checkpoint, fmt.Errorf("%s without having been asked for", name))
	}
	*flag(f) = true
	return c.settle(f)
}

// settle decides what the checkpoint's progress makes possible.
func (c *Coordinator) settle(f *inFlight) []Decision {
	var out []Decision
	if !f.ready && len(f.missing) == 0 {
		f.ready = true
		out = append(out, c.decision(DecidePersist, f), c.decision(DecidePrepare, f))
	}
	if f.persisted && f.prepared && !f.commitAsked && f.id == c.committed+1 {
		f.commitAsked = true
		out = append(out, c.decision(DecideCommit, f))
	}
	return out
}

func (c *Coordinator) find(checkpoint int64) *inFlight {
	for _, f := range c.flight {
		if f.id == checkpoint {
			return f
		}
	}
	return nil
}

func (c *Coordinator) fail(checkpoint int64, cause error) []Decision {
	c.dead = true
	return []Decision{{Kind: DecideAbort, Checkpoint: checkpoint, Err: &FailedError{
		Checkpoint: checkpoint, Expired: errors.Is(cause, ErrExpired), Cause: cause,
	}}}
}

func (c *Coordinator) expire(f *inFlight) []Decision {
	c.dead = true
	expired := c.decision(DecideExpire, f)
	expired.Missing = f.missingSubtasks()
	abort := expired
	abort.Kind = DecideAbort
	abort.Err = &FailedError{Checkpoint: f.id, Expired: true, reason: fmt.Sprintf("expired after %s: %s", c.options.Timeout, c.waitsFor(f))}
	return []Decision{expired, abort}
}

// waitsFor says why a checkpoint is not committed. It names three subtasks at most: with more of them the first few, in
// order of name, tell as much.
func (c *Coordinator) waitsFor(f *inFlight) string {
	missing := f.missingSubtasks()
	switch {
	case len(missing) > 0:
		var parts []string
		for i, s := range missing {
			if i == 3 {
				parts = append(parts, fmt.Sprintf("and %d more", len(missing)-i))
				break
			}
			if what := f.missing[s]; what != "" {
				parts = append(parts, fmt.Sprintf("subtask %s waits for %s", s, what))
			} else {
				parts = append(parts, fmt.Sprintf("subtask %s has not acknowledged", s))
			}
		}
		return strings.Join(parts, ", ")
	case f.commitAsked:
		return "the commit of its transaction was not answered"
	case !f.persisted && !f.prepared:
		return "its state is not stored and its output is not acknowledged by the brokers"
	case !f.persisted:
		return "its state is not stored"
	case !f.prepared:
		return "its output is not acknowledged by the brokers"
	}
	return fmt.Sprintf("checkpoint %d before it is not committed", c.committed+1)
}

// missingSubtasks lists who has not acknowledged, subtasks that say what they wait for first.
func (f *inFlight) missingSubtasks() []stream.SubtaskID {
	var out []stream.SubtaskID
	for s := range f.missing {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b stream.SubtaskID) int {
		silent := func(s stream.SubtaskID) int {
			if f.missing[s] == "" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(silent(a), silent(b)), cmp.Compare(a.Operator, b.Operator), cmp.Compare(a.Index, b.Index))
	})
	return out
}

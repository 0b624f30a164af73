package checkpoint

import (
	"errors"
	"time"

	"github.com/weirstream/weir/stream"
)

// Coordinator decides when checkpoints of one shard are triggered, committed and given up, for one attempt. It has no
// clock and starts nothing: every input carries the time where it matters and answers with decisions, and NextWake says
// when Tick wants to be called. It is used from one goroutine.
//
// It keeps rule 2 (dense IDs), rule 3 (n is committed after n-1), rule 8 (what has a barrier out is committed, or the
// attempt ends), rule 9 (an idle job takes no checkpoint, decided before a barrier is sent) and rule 10 (an attempt begins
// with a checkpoint of its own).
type Coordinator struct {
	options  Options
	subtasks map[stream.SubtaskID]bool // true: finished, nothing more comes from it

	// flight are the checkpoints under way, oldest first; their IDs are committed+1, committed+2, ...
	flight    []*inFlight
	committed int64
	// first is the ID of the attempt's own first checkpoint; nothing is triggered before it is committed.
	first int64

	lastTrigger time.Time // or the attempt's start, or the last time a checkpoint was skipped; by schedule, if that was a little late
	lastEnd     time.Time // when the last checkpoint completed
	dirty       bool      // something happened since the last barrier
	savepoints  []string  // asked for and not yet triggered
	record      bool      // there is something to commit, although nothing happened
	stopping    bool      // the next trigger without another savepoint waiting is the last one
	ended       bool      // the input has ended
	draining    bool      // it is about to: nothing is triggered before
	lastSent    bool      // the last checkpoint is triggered
	dead        bool      // aborted or done
	done        bool      // the last checkpoint is committed

	lastSavepoint string // what the last checkpoint is to become, "" for nothing more
}

// inFlight is a checkpoint between its trigger and its commit.
type inFlight struct {
	id          int64
	deadline    time.Time
	savepoint   string
	last, final bool
	missing     map[stream.SubtaskID]string // not acknowledged; the text says what the subtask waits for
	ready       bool                        // everything has been acknowledged
	persisted   bool
	prepared    bool
	commitAsked bool
}

// NewCoordinator returns the coordinator of an attempt whose predecessor's last committed checkpoint is last (0 for none).
func NewCoordinator(options Options, subtasks []stream.SubtaskID, last int64) *Coordinator {
	c := &Coordinator{options: options, subtasks: map[stream.SubtaskID]bool{}, committed: last, first: last + 1}
	for _, s := range subtasks {
		c.subtasks[s] = false
	}
	return c
}

// Start begins the attempt: its first act is to commit a checkpoint of its own, before anything is read or written.
func (c *Coordinator) Start(now time.Time) []Decision {
	c.lastTrigger = now
	f := &inFlight{id: c.first, deadline: now.Add(c.options.Timeout), ready: true, persisted: true, prepared: true, commitAsked: true}
	c.flight = append(c.flight, f)
	return []Decision{c.decision(DecideCommit, f)}
}

// Activity notes that something happened that a checkpoint would have to keep: a record, a timer, a watermark.
func (c *Coordinator) Activity() { c.dirty = true }

// Savepoint asks for a checkpoint that becomes a savepoint in the given directory. It is triggered as soon as there is
// room, whatever the interval and the pause, and also if the job is idle. Asking again for the same directory while it
// waits or is under way changes nothing.
func (c *Coordinator) Savepoint(directory string, now time.Time) []Decision {
	if c.dead {
		return nil
	}
	for _, s := range c.savepoints {
		if s == directory {
			return nil
		}
	}
	for _, f := range c.flight {
		if f.savepoint == directory {
			return nil
		}
	}
	c.savepoints = append(c.savepoints, directory)
	return c.Tick(now)
}

// Stop asks for a last checkpoint, after which the job ends (Done).
func (c *Coordinator) Stop(now time.Time) []Decision {
	c.stopping = true
	return c.Tick(now)
}

// LastSavepoint says that the last checkpoint is to become a savepoint in the given directory. It is called before the Stop,
// or before the end of the input.
func (c *Coordinator) LastSavepoint(directory string) { c.lastSavepoint = directory }

// Resume lets a job go on whose last checkpoint is committed: it is not to stop after all. Nothing has been read since the
// barrier. It cannot go on behind the end of its input, and reports so.
func (c *Coordinator) Resume(now time.Time) bool {
	if !c.done || c.ended {
		return false
	}
	c.dead, c.done, c.stopping, c.lastSent, c.lastSavepoint = false, false, false, false, ""
	c.lastTrigger = now
	return true
}

// Draining says that every source is being told to end. Nothing is triggered until all have ended: a checkpoint in between could
// have windows that fired before their time, and would not be known as drained. Savepoints that were asked for and are not
// triggered yet are forgotten; the caller answers whoever waits for them.
func (c *Coordinator) Draining() { c.draining, c.savepoints = true, nil }

// EndOfInput notes that every source has ended and every window has fired: one more checkpoint is the final one.
func (c *Coordinator) EndOfInput(now time.Time) []Decision {
	c.stopping, c.ended = true, true
	return c.Tick(now)
}

// Record asks for a checkpoint as soon as there is room, whatever the interval and the pause, and also if the job is idle: for
// what the last pointer says and does not hold any more. One that is triggered already does not do.
func (c *Coordinator) Record(now time.Time) []Decision {
	c.record = true
	return c.Tick(now)
}

// Finished notes that a subtask has ended and acknowledged all that it will: later checkpoints do not wait for it.
func (c *Coordinator) Finished(subtask stream.SubtaskID) []Decision {
	if c.dead {
		return nil
	}
	if _, ok := c.subtasks[subtask]; !ok {
		return c.fail(c.committed+1, errors.New("unknown subtask "+subtask.String()+" finished"))
	}
	c.subtasks[subtask] = true
	var out []Decision
	for _, f := range c.flight {
		delete(f.missing, subtask)
		out = append(out, c.settle(f)...)
	}
	return out
}

// Tick triggers what is due and gives up what has expired.
func (c *Coordinator) Tick(now time.Time) []Decision {
	if c.dead {
		return nil
	}
	for _, f := range c.flight {
		if !now.Before(f.deadline) {
			return c.expire(f)
		}
	}
	due, ok := c.due()
	if !ok || now.Before(due) {
		return nil
	}
	asked := len(c.savepoints) > 0 || c.stopping || c.record
	if !c.dirty && !asked {
		c.triggered(now)
		return []Decision{{Kind: DecideSkip}}
	}
	return []Decision{c.trigger(now)}
}

// triggered notes that an interval begins. One that begins a little late, as all do, does not make the next one late: else there
// would be fewer checkpoints than the interval says.
func (c *Coordinator) triggered(now time.Time) {
	at := c.lastTrigger.Add(c.options.Interval)
	if late := now.Sub(at); late < 0 || late >= c.options.Interval/8 {
		at = now
	}
	c.lastTrigger = at
}

// NextWake returns when Tick should be called next; ok is false if only another input can change anything.
func (c *Coordinator) NextWake() (at time.Time, ok bool) {
	if c.dead {
		return time.Time{}, false
	}
	at, ok = c.due()
	for _, f := range c.flight {
		if !ok || f.deadline.Before(at) {
			at, ok = f.deadline, true
		}
	}
	return at, ok
}

// due returns when the next checkpoint may be triggered; ok is false while there is no room for one.
func (c *Coordinator) due() (at time.Time, ok bool) {
	if c.committed < c.first || c.lastSent || c.draining && !c.ended || len(c.flight) >= c.options.Concurrency() {
		return time.Time{}, false
	}
	if c.stopping || c.record || len(c.savepoints) > 0 {
		return time.Time{}, true
	}
	return c.regular(), true
}

// regular is when the interval and the pause allow the next checkpoint.
func (c *Coordinator) regular() time.Time {
	at := c.lastTrigger.Add(c.options.Interval)
	if p := c.lastEnd.Add(c.options.MinPause); p.After(at) {
		return p
	}
	return at
}

// NextTrigger returns when the next checkpoint is triggered at the soonest, if nobody asks for one before that. It is the zero
// time if that may be at any moment: as long as the attempt has committed nothing but its own first checkpoint, since the
// first records after a recovery are not kept waiting, and while one is asked for.
func (c *Coordinator) NextTrigger() time.Time {
	if c.dead || c.committed <= c.first || c.stopping || c.draining || c.record || len(c.savepoints) > 0 {
		return time.Time{}
	}
	return c.regular()
}

func (c *Coordinator) trigger(now time.Time) Decision {
	f := &inFlight{id: c.committed + int64(len(c.flight)) + 1, deadline: now.Add(c.options.Timeout), missing: map[stream.SubtaskID]string{}}
	for s, finished := range c.subtasks {
		if !finished {
			f.missing[s] = ""
		}
	}
	if len(c.savepoints) > 0 {
		f.savepoint, c.savepoints = c.savepoints[0], c.savepoints[1:]
	}
	if c.stopping && len(c.savepoints) == 0 && (f.savepoint == "" || c.lastSavepoint == "") {
		f.last, f.final, c.lastSent = true, c.ended, true
		if c.lastSavepoint != "" {
			f.savepoint = c.lastSavepoint
		}
	}
	c.flight = append(c.flight, f)
	c.triggered(now)
	c.dirty, c.record = false, false
	return c.decision(DecideTrigger, f)
}

func (c *Coordinator) decision(kind DecisionKind, f *inFlight) Decision {
	return Decision{Kind: kind, Checkpoint: f.id, Slot: Slot(f.id), Savepoint: f.savepoint, First: f.id == c.first, Last: f.last, Final: f.final}
}

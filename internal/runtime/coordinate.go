package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/stream"
)

// errDone ends an attempt whose last checkpoint is committed.
var errDone = errors.New("the job is done")

// coordination carries out what the checkpoint coordinator decides. One goroutine owns the coordinator and never waits
// for anything but its inputs. The slow work is done by two others, one that persists and prepares and one that commits, each
// one checkpoint after the other.
type coordination struct {
	a     *attempt
	coord *checkpoint.Coordinator
	// in takes what the subtasks and the worker report.
	in chan any
	// work has room for everything that can be asked for: each step once for each checkpoint in flight.
	work [2]chan *completion // to persist and prepare, to commit

	flight    map[int64]*completion
	last      bool // the last checkpoint is triggered
	final     bool // and the input has ended before it
	done      bool // the last checkpoint is committed
	committed int64
	began     int64 // the attempt's own first checkpoint
	ended     int   // source subtasks that have ended

	// stop is the request to stop that is carried out, nil if there is none; see stopping.go.
	stop *tryToStop
	// hold is where subtasks stand still: at the barrier of the last checkpoint.
	hold atomic.Pointer[hold]

	// asked are those who wait for a savepoint whose barrier is not sent yet, by directory. saving are the savepoints whose
	// barrier is, by checkpoint, those that the recovery goes on with too. What is asked for is of a later checkpoint than any
	// that was committed before, so the end of an older copy in the same directory is no answer to it.
	asked  map[string][]chan error
	saving map[int64]*saving
	// givenUp are the savepoints that could not be written, until a pointer is committed that does not list them any more.
	givenUp []givenUp
}

// saving is a savepoint on its way, and who waits for it.
type saving struct {
	dir  string
	done []chan error
}

// givenUp is a savepoint that could not be written. The next start does not try again what somebody was told had failed.
type givenUp struct {
	err  error
	done []chan error
	// checkpoint is the one whose pointer does not list it, 0 before that is triggered.
	checkpoint int64
}

func (g *givenUp) answer() {
	for _, done := range g.done {
		done <- g.err
	}
}

// What reaches the coordinator besides snapshots.
type (
	sourceEnd    struct{}
	firstRecords struct{}
	persisted    struct{ checkpoint int64 }
	prepared     struct{ checkpoint int64 }
	committed    struct{ checkpoint int64 }
	failed       struct {
		checkpoint int64
		err        error
	}
	broken        struct{ err error } // a record could not be written
	savepointDone struct {
		checkpoint int64
		err        error
	}
	alignment struct {
		subtask    stream.SubtaskID
		checkpoint int64
		waits      string
	}
)

func newCoordination(a *attempt) *coordination {
	var ids []stream.SubtaskID
	for _, r := range a.readers {
		ids = append(ids, r.chain.subtask)
	}
	for _, o := range a.operators {
		ids = append(ids, o.chain.subtask)
	}
	c := &coordination{
		a: a, in: make(chan any, 2*len(ids)+16),
		work:   [2]chan *completion{make(chan *completion, checkpoint.Slots), make(chan *completion, checkpoint.Slots)},
		flight: map[int64]*completion{}, asked: map[string][]chan error{}, saving: map[int64]*saving{},
	}
	for _, s := range a.last.Unfinished {
		c.saving[s.Checkpoint] = &saving{dir: s.Directory}
	}
	// The attempt's own first checkpoint is committed already when the coordinator begins.
	c.coord = checkpoint.NewCoordinator(a.cfg.Checkpoint, ids, a.last.Checkpoint-1)
	c.coord.Start(c.now())
	c.coord.Committed(a.last.Checkpoint, c.now())
	c.committed, c.began = a.last.Checkpoint, a.last.Checkpoint
	return c
}

// now is monotonic: a clock that is set does not expire a checkpoint.
func (c *coordination) now() time.Time { return time.Now() }

// send reports something to the coordinator. It gives up when the attempt ends.
func (c *coordination) send(m any) {
	select {
	case c.in <- m:
	case <-c.a.ctx.Done():
	}
}

// run is the coordinator's goroutine.
func (c *coordination) run(ctx context.Context) error {
	defer c.refuseSavepoints()
	signal(c.a.job.stops) // whoever took the signal before did not carry the request out
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var decisions []checkpoint.Decision
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			c.activity()
			decisions = c.coord.Tick(c.now())
		case m := <-c.in:
			decisions = c.input(m)
		case r := <-c.a.job.requests:
			if c.last {
				r.done <- errors.New("the job is taking its last checkpoint: there will be no savepoint")
				continue
			}
			if c.stop != nil && c.stop.Drain {
				r.done <- errDraining
				continue
			}
			if err := c.busy(r.dir); err != nil {
				r.done <- err
				continue
			}
			c.asked[r.dir] = append(c.asked[r.dir], r.done)
			decisions = c.coord.Savepoint(r.dir, c.now()) // once a directory
		case <-c.a.job.stops:
			decisions = c.stopAsked()
		}
		if err := c.carryOutAll(decisions); err != nil {
			return err
		}
		if c.done && !c.awaited() {
			if !c.goesOn() {
				return errDone
			}
			if err := c.carryOutAll(c.coord.Record(c.now())); err != nil {
				return err
			}
		}
		next := c.coord.NextTrigger()
		c.a.nextTrigger.Store(&next)
		if at, ok := c.coord.NextWake(); ok {
			timer.Reset(max(0, at.Sub(c.now())))
		} else {
			timer.Stop()
		}
	}
}

// activity tells the coordinator whether anything happened since the last barrier.
func (c *coordination) activity() {
	for _, r := range c.a.readers {
		if r.dirty.Load() || r.chain.moved.Load() {
			c.coord.Activity()
			return
		}
	}
	for _, o := range c.a.operators {
		if o.dirty.Load() || o.chain.moved.Load() {
			c.coord.Activity()
			return
		}
	}
}

func (c *coordination) input(m any) []checkpoint.Decision {
	switch m := m.(type) {
	case *snapshot:
		if f := c.flight[m.checkpoint]; f != nil {
			f.snapshots = append(f.snapshots, m)
			f.behind = f.behind || m.behind
		}
		return c.coord.Ack(m.subtask, m.checkpoint)
	case alignment:
		c.coord.Waits(m.subtask, m.checkpoint, m.waits)
	case persisted:
		return c.coord.Persisted(m.checkpoint)
	case prepared:
		return c.coord.Prepared(m.checkpoint)
	case committed:
		if f := c.flight[m.checkpoint]; f != nil {
			c.a.foundFree(f, time.Since(f.began))
		}
		c.activity()
		c.committed = m.checkpoint
		return append(c.coord.Committed(m.checkpoint, c.now()), c.recorded(m.checkpoint)...)
	case failed:
		return c.coord.Failed(m.checkpoint, m.err)
	case broken:
		// It belongs to the oldest checkpoint that is not committed.
		return c.coord.Failed(c.committed+1, m.err)
	case savepointDone:
		return c.savepointEnded(m)
	case firstRecords:
		// Whoever reads the output has waited since the last attempt ended, so the first records after it are committed as soon as
		// they are through, not an interval later. A checkpoint that is under way has its barrier before or behind them already.
		if len(c.flight) == 0 && c.committed == c.began && c.a.before != nil {
			return c.coord.Record(c.now())
		}
	case sourceEnd:
		if c.ended++; c.ended == len(c.a.readers) {
			return c.coord.EndOfInput(c.now())
		}
	}
	return nil
}

// savepointEnded answers whoever waits for a savepoint. If it could not be written, the pointers that list it are to be
// followed by one that does not, also in an idle job.
func (c *coordination) savepointEnded(m savepointDone) []checkpoint.Decision {
	g := givenUp{err: m.err}
	stops := false
	if s := c.saving[m.checkpoint]; s != nil {
		g.done = s.done
		stops = c.stop != nil && c.stop.Savepoint == s.dir && c.standsAt(m.checkpoint)
		delete(c.saving, m.checkpoint)
	}
	if m.err != nil && c.last && !stops {
		g.err = fmt.Errorf("%w (the job is ending: its next start tries again)", m.err)
	}
	if m.err == nil || c.last { // goesOn decides what follows
		g.answer()
		return nil
	}
	c.givenUp = append(c.givenUp, g)
	return c.coord.Record(c.now())
}

func (c *coordination) carryOutAll(decisions []checkpoint.Decision) error {
	for _, d := range decisions {
		if err := c.carryOut(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *coordination) carryOut(d checkpoint.Decision) error {
	switch d.Kind {
	case checkpoint.DecideTrigger:
		now := time.Now()
		c.last, c.final = d.Last, d.Final
		c.flight[d.Checkpoint] = &completion{
			checkpoint: d.Checkpoint, savepoint: d.Savepoint, last: d.Last, final: d.Final, drained: d.Final && c.stop != nil && c.stop.Drain,
			began: now, deadline: now.Add(c.a.cfg.Checkpoint.Timeout),
		}
		if d.Savepoint != "" {
			c.saving[d.Checkpoint] = &saving{d.Savepoint, c.asked[d.Savepoint]}
			delete(c.asked, d.Savepoint)
		}
		for i := range c.givenUp {
			if c.givenUp[i].checkpoint == 0 {
				c.givenUp[i].checkpoint = d.Checkpoint
			}
		}
		if d.Last {
			c.holdAt(d.Checkpoint)
		}
		c.a.cfg.Listener.OnTrigger(checkpoint.TriggerEvent{
			Checkpoint: d.Checkpoint, Slot: d.Slot, Savepoint: d.Savepoint, Last: d.Last,
		})
		c.a.cfg.Fault.At(fault.Triggered)
		for _, r := range c.a.readers {
			r.barriers <- d.Checkpoint // has room for every checkpoint in flight
		}
		c.a.cfg.Fault.At(fault.BarriersSent)
	case checkpoint.DecidePersist:
		// DecidePrepare comes with it: the worker does both side by side.
		f := c.flight[d.Checkpoint]
		f.travel = time.Since(f.began)
		c.work[0] <- f
	case checkpoint.DecideCommit:
		c.work[1] <- c.flight[d.Checkpoint]
	case checkpoint.DecideComplete:
		c.a.cfg.Fault.At(fault.Completed)
		delete(c.flight, d.Checkpoint)
	case checkpoint.DecideAbort:
		var failed *checkpoint.FailedError
		if errors.As(d.Err, &failed) {
			c.a.cfg.Listener.OnFailed(checkpoint.FailedEvent{Checkpoint: failed.Checkpoint, Expired: failed.Expired, Err: d.Err})
		}
		return d.Err
	case checkpoint.DecideDone:
		c.done = true // but a savepoint that is being copied is waited for
		c.a.job.lastCommitted()
	}
	return nil
}

// busy refuses a savepoint in a directory that gets an older one at the moment.
func (c *coordination) busy(dir string) error {
	for id, s := range c.saving {
		if s.dir == dir {
			return &busyError{dir, id}
		}
	}
	return nil
}

// busyError is fs.ErrExist, as is a savepoint that is in the directory already.
type busyError struct {
	dir        string
	checkpoint int64
}

func (e *busyError) Error() string {
	return fmt.Sprintf("savepoint %s: checkpoint %d is being copied there: wait for it, or name another directory", e.dir, e.checkpoint)
}

func (e *busyError) Is(target error) bool { return target == fs.ErrExist }

// awaited reports whether somebody waits for a savepoint. What the recovery goes on with alone does not hold the end of the job
// up: the last pointer lists it.
func (c *coordination) awaited() bool {
	for _, s := range c.saving {
		if len(s.done) > 0 {
			return true
		}
	}
	return len(c.asked) > 0
}

// refuseSavepoints answers whoever waits for a savepoint that this attempt will not make.
func (c *coordination) refuseSavepoints() {
	for _, g := range c.givenUp {
		g.answer()
	}
	for _, done := range slices.Concat(slices.Collect(maps.Values(c.asked))...) {
		done <- errors.New("the attempt ended before the savepoint was begun: ask again")
	}
	for id, s := range c.saving {
		for _, done := range s.done {
			done <- fmt.Errorf("the attempt ended before the savepoint was complete: if checkpoint %d is committed, the next attempt goes on with it, else ask again", id)
		}
	}
}

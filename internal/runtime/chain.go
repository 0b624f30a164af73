package runtime

import (
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/stream"
)

// chain is the steps of one subtask of a task, wired to each other and to the exchanges after them. All of it belongs to
// the subtask's goroutine.
type chain struct {
	subtask  stream.SubtaskID // named for the first step
	stages   []*stage         // inputs come first
	byNode   map[*Node]*stage
	exchange []*exchangeOut
	writers  []sink.Writer
	// moved says that event time has moved in the chain since the last barrier.
	moved atomic.Bool
	// tables are the states of all steps, once room has been made for the first time.
	tables []operators.Table
	// waited is how long the subtask has waited for room since the last barrier.
	waited time.Duration
	// toldBefore is the size of the live maps when it was last looked at, in bytes; it belongs to who completes checkpoints.
	toldBefore int64
}

// exchangeOut is the upstream end of an edge.
type exchangeOut struct {
	to    []*channel
	flush func() error
}

func (x *exchangeOut) send(m message) error {
	if err := x.flush(); err != nil {
		return err
	}
	for _, c := range x.to {
		if err := c.push(m); err != nil {
			return err
		}
	}
	return nil
}

// flush sends what the exchanges after the chain have buffered, and publishes what was counted.
func (c *chain) flush() error {
	for _, x := range c.exchange {
		if err := x.flush(); err != nil {
			return err
		}
	}
	for _, s := range c.stages {
		s.metrics.add(&s.counts)
	}
	return nil
}

// resume tells operators how far event time had come at the checkpoint that was restored, so that what was late then is
// late now; and the steps after them, of which each knows only the least of its inputs.
func (c *chain) resume() error {
	for _, s := range c.stages {
		s.metrics.Watermark.Store(s.watermark)
		if s.watermark == stream.MinTime {
			continue
		}
		if s.impl.OnWatermark != nil {
			if err := s.impl.OnWatermark(s.watermark); err != nil {
				return s.locate(err)
			}
		}
		if err := s.handOn(); err != nil {
			return err
		}
	}
	return c.flush()
}

// nextClock is when the chain's earliest processing-time timer is due.
func (c *chain) nextClock() int64 {
	next := stream.MaxTime
	for _, s := range c.stages {
		if s.impl.NextClock != nil {
			next = min(next, s.impl.NextClock())
		}
	}
	return next
}

// clock fires the processing-time timers that are due.
func (c *chain) clock(now int64) (fired bool, err error) {
	for _, s := range c.stages {
		if s.impl.NextClock == nil || s.impl.NextClock() > now {
			continue
		}
		fired = true
		if err := s.impl.OnClock(now); err != nil {
			return fired, s.locate(err)
		}
	}
	return fired, nil
}

// snapshot is what one subtask gives to a checkpoint: changes that are frozen but not encoded, and, for a source, where
// its splits stand.
type snapshot struct {
	subtask    stream.SubtaskID
	checkpoint int64
	frozen     []frozenState
	watermarks map[string]int64
	splits     []splitPosition
	// pause is how long the freezing took.
	pause time.Duration
	// behind says that a source had fetched records that are behind its barrier.
	behind bool
}

type frozenState struct {
	operator, state string
	frozen          operators.Frozen
}

// barrier freezes the chain's state, ends the checkpoint for its sinks and hands the barrier on.
func (c *chain) barrier(checkpoint int64) (*snapshot, error) {
	began := time.Now()
	snap := &snapshot{subtask: c.subtask, checkpoint: checkpoint, watermarks: map[string]int64{}}
	for _, s := range c.stages {
		snap.watermarks[s.node.Name] = s.watermark
		for _, t := range s.ctx.Tables() {
			if f := t.Freeze(checkpoint); f != nil {
				snap.frozen = append(snap.frozen, frozenState{s.node.Name, t.Desc().Name, f})
			}
		}
	}
	snap.pause = time.Since(began)
	c.waited = 0
	c.tell()
	for _, x := range c.exchange {
		if err := x.send(message{kind: barrier, checkpoint: checkpoint}); err != nil {
			return nil, err
		}
	}
	for _, w := range c.writers {
		if err := w.Barrier(checkpoint); err != nil {
			return nil, err
		}
	}
	return snap, nil
}

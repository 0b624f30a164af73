package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// loop computes the job. All of it is one goroutine.
type loop struct {
	job    *Job
	opts   *Options
	ledger *ledger
	lanes  *lanes
	store  *store
	report *Report

	keyGroups int
	steps     []*step // inputs come first
	byNode    map[*runtime.Node]*step
	// topics are the names of all topics by number: those that are written first.
	topics  []string
	sources []*input

	// now is what is known of the event under way, stack what was known of those that led to it.
	now   passing
	stack []passing
	// of is the source of the record under way, nil while only time moves.
	of    *input
	split int32
	// phase says which results are computed: 0 those that must be there, 1 those that may.
	phase int
	// refusal ends the loop.
	refusal error
}

// passing is what is known of an event besides the event.
type passing struct {
	// topic, partition and offset are those of the record of the input that led to it; known says whether there is one.
	topic     uint8
	partition int32
	offset    int64
	known     bool
	lane      lane
	// latest is how far event time may have come at most when the event was read.
	latest int64
	// doubt is the step because of which the event is doubtful, -1 for none.
	doubt int32
}

// input is a source and its splits.
type input struct {
	step   *step
	decode func(split int32, rec *stream.Record) error
	splits []*split
	// timed are the event_time steps that read the source.
	timed []*step
}

// split is one partition of a source.
type split struct {
	index  int32
	topic  uint8
	lane   lane
	reader *reader
	// until is where the phase after ends; to, of the reader, where this one does.
	until int64
	// from is what was restored of the split.
	from checkpoint.Split
}

// back is the watermark of a split of an event_time step whose greatest time is ts.
func (s *step) back(ts int64) int64 {
	if ts < stream.MinTime+s.bound+1 {
		return stream.MinTime
	}
	return ts - s.bound - 1
}

// clock is the time that an operator asks for.
func (l *loop) clock(s *step) int64 {
	if !s.trusted && l.refusal == nil {
		l.refusal = refuse(s.node.Name, "its results depend on the clock")
	}
	return time.Now().UnixMilli()
}

// openSplits tells the event_time steps of the splits of their sources, and finds out who reads which.
func (l *loop) openSplits() {
	for _, in := range l.sources {
		for _, s := range l.steps {
			if s.stage.Generator != nil && headOf(s.node) == in.step.node {
				in.timed = append(in.timed, s)
				for _, sp := range in.splits {
					seen, ok := sp.from.MaxTimestamps[s.node.Name]
					if !ok {
						seen = stream.MinTime
					}
					s.stage.Generator.OpenSplit(sp.index, seen)
				}
			}
		}
	}
}

// headOf is the source that a step is chained to.
func headOf(n *runtime.Node) *runtime.Node {
	for n.Source == nil {
		n = n.Inputs[0].From
	}
	return n
}

// spillEvery is after how many records the size of the state is looked at.
const spillEvery = 4096

// chunk is how many records of a split are taken before event time is moved on.
const chunk = 256

// run computes one phase: the splits up to where it ends.
func (l *loop) run(ctx context.Context, phase int) error {
	l.phase = phase
	var open []*split
	owner := map[*split]*input{}
	var total int64
	for _, in := range l.sources {
		for _, sp := range in.splits {
			if phase > 0 {
				sp.reader.to = sp.until
			}
			if sp.reader.left() > 0 {
				open = append(open, sp)
				owner[sp] = in
			}
			total += sp.reader.left()
		}
	}
	n := 0
	for len(open) > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		at := slowest(open, owner)
		sp := open[at]
		more, taken, err := l.take(ctx, owner[sp], sp)
		if err != nil {
			return err
		}
		if !more {
			open = slices.Delete(open, at, at+1)
		}
		if err := l.time(); err != nil {
			return err
		}
		if n += taken; n >= spillEvery || !more {
			n = 0
			if err := l.spill(); err != nil {
				return err
			}
			var left int64
			for _, sp := range open {
				left += sp.reader.left()
			}
			l.opts.Progress(Progress{Phase: "input", Done: total - left, Total: total})
		}
	}
	l.of, l.now = nil, passing{doubt: -1, latest: stream.MinTime}
	for _, s := range l.steps {
		if err := l.advance(s, s.limit[phase]); err != nil {
			return err
		}
	}
	return nil
}

// end computes what may have been computed since p1: windows that one subtask fired before another had come as far.
func (l *loop) end() error {
	l.phase = 1
	l.of, l.now = nil, passing{doubt: -1, latest: stream.MinTime}
	for _, s := range l.steps {
		if err := l.advance(s, stream.MaxTime); err != nil {
			return err
		}
	}
	return nil
}

// slowest finds the split that is furthest behind in event time, so that little state is open at a time. Those without
// event time come one after the other.
func slowest(open []*split, owner map[*split]*input) int {
	least, at := stream.MaxTime, 0
	for i, sp := range open {
		seen := stream.MinTime
		for _, s := range owner[sp].timed {
			seen = s.stage.Generator.MaxTimestamp(sp.index)
		}
		if seen < least {
			least, at = seen, i
		}
	}
	return at
}

// take hands a chunk of a split through the job; more says whether there is more.
func (l *loop) take(ctx context.Context, in *input, sp *split) (more bool, taken int, err error) {
	var rec stream.Record
	for ; taken < chunk; taken++ {
		ok, err := sp.reader.take(ctx, &rec)
		if err != nil || !ok {
			return false, taken, err
		}
		l.of, l.split = in, sp.index
		l.now = passing{topic: sp.topic, partition: rec.Partition, offset: rec.Offset, known: true, lane: sp.lane, latest: stream.MinTime, doubt: -1}
		l.report.Records++
		if err := in.decode(sp.index, &rec); err != nil {
			return false, taken, l.located(in.step, err)
		}
		if l.refusal != nil {
			return false, taken, l.refusal
		}
		for _, s := range l.steps {
			if s.stage.NextClock != nil && !s.trusted && s.stage.NextClock() != stream.MaxTime {
				return false, taken, refuse(s.node.Name, "it sets processing-time timers, so its results depend on the clock")
			}
		}
	}
	return true, taken, nil
}

// located says where an error of the job's own functions came up.
func (l *loop) located(in *step, err error) error {
	if l.refusal != nil {
		return l.refusal
	}
	if !l.now.known {
		return err
	}
	return fmt.Errorf("%s: computing the job: %w", l.where(), err)
}

func (l *loop) spill() error {
	var tables []operators.Table
	for _, s := range l.steps {
		tables = append(tables, s.ctx.Tables()...)
	}
	return l.store.spill(tables, l.opts.Memory)
}

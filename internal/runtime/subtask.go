package runtime

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// subtask is one goroutine of the dataflow: a chain and what feeds it.
type subtask struct {
	a     *attempt
	chain *chain
	// dirty says that something happened since the last barrier that a checkpoint should keep (rule 9).
	dirty atomic.Bool
	timer *time.Timer
}

// sourceSubtask reads the splits of one source subtask and runs the chain behind the source.
type sourceSubtask struct {
	subtask
	node     *Node
	reader   source.Reader
	barriers chan int64
	events   chan source.Event
	decode   func(int32, *stream.Record) error
	splits   []checkpoint.Split
	// positions are the splits as seen from outside, in the order of splits.
	positions atomic.Pointer[[]*position]
	// timed is the step that says how far event time is in a split, nil if none does; places are what the job's alignment knows of
	// the splits, in their order, and is empty if they are not aligned.
	timed  operators.Generator
	places []*source.AlignedSplit
	ended  bool
}

// splitPosition is where a split stands at a barrier.
type splitPosition struct {
	source string
	split  checkpoint.Split
}

// run carries events and barriers until the attempt ends.
func (s *sourceSubtask) run(ctx context.Context) error {
	for i := range s.splits {
		s.openSplit(int32(i))
	}
	if err := s.chain.resume(); err != nil {
		return err
	}
	if err := s.generate(); err != nil { // without a split the subtask is idle, and says so at once
		return err
	}
	for {
		events := s.events
		if s.ended {
			events = nil // of a job that is drained the reader is left waiting
		}
		select {
		case ev := <-events:
			if err := s.handle(ev); err != nil {
				return err
			}
			if len(s.events) == 0 {
				if err := s.idle(); err != nil {
					return err
				}
			}
		case id := <-s.barriers:
			if err := s.barrier(id, len(s.events) > 0); err != nil {
				return err
			}
		case <-s.wake():
			if err := s.clock(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *sourceSubtask) handle(ev source.Event) error {
	switch ev.Kind {
	case source.EventSplit:
		if int(ev.Index) < len(s.splits) {
			return nil // known since the start
		}
		s.splits = append(s.splits, ev.Split)
		s.openSplit(ev.Index)
	case source.EventBatch:
		defer ev.Batch.Release()
		return s.batch(&ev.Batch)
	case source.EventIdle, source.EventActive:
		for _, st := range s.chain.stages {
			if g := st.impl.Generator; g != nil {
				g.SetIdle(ev.Index, ev.Kind == source.EventIdle)
			}
		}
		return s.generate()
	case source.EventSplitEnd:
		s.splits[ev.Index].Done = true
		s.dirty.Store(true)
		for _, st := range s.chain.stages {
			if g := st.impl.Generator; g != nil {
				g.CloseSplit(ev.Index)
			}
		}
		return s.generate()
	case source.EventEnd:
		// A barrier that was sent before a drain is of a checkpoint that is not marked as drained.
		for len(s.barriers) > 0 {
			if err := s.barrier(<-s.barriers, false); err != nil {
				return err
			}
		}
		s.ended = true
		if err := s.chain.stages[0].setWatermark(0, stream.MaxTime, false); err != nil {
			return err
		}
		if err := s.chain.flush(); err != nil {
			return err
		}
		s.dirty.Store(true)
		s.a.sourceEnded()
	}
	return nil
}

func (s *sourceSubtask) openSplit(i int32) {
	split := &s.splits[i]
	s.publishSplit(i)
	for _, st := range s.chain.stages {
		g := st.impl.Generator
		if g == nil {
			continue
		}
		seen, ok := split.MaxTimestamps[st.node.Name]
		if !ok {
			seen = stream.MinTime
		}
		g.OpenSplit(i, seen)
		if split.Done {
			g.CloseSplit(i)
		}
		if g == s.timed {
			s.align(split, seen)
			s.tellTime(i, seen)
		}
	}
}

// align makes a split part of the job's alignment, if it is to be.
func (s *sourceSubtask) align(split *checkpoint.Split, seen int64) {
	if al, ok := s.timed.(operators.Aligned); ok && al.MaxDrift() > 0 {
		place := s.a.timeAlignment.Split(s.node.Name, split.Topic, split.Partition)
		place.Open(al.MaxDrift(), seen)
		s.places = append(s.places, place)
	}
}

// tellTime says how far event time is in a split.
func (s *sourceSubtask) tellTime(i int32, at int64) {
	(*s.positions.Load())[i].eventTime.Store(at)
	if len(s.places) > 0 {
		s.places[i].Advance(at)
	}
}

// timeOf is the step of a chain that says how far event time is in its source's splits: one that aligns them, if there is any.
func timeOf(c *chain) (clock operators.Generator) {
	for _, st := range c.stages {
		g := st.impl.Generator
		if al, ok := g.(operators.Aligned); ok && al.MaxDrift() > 0 {
			return g
		}
		if clock == nil {
			clock = g
		}
	}
	return clock
}

func (s *sourceSubtask) batch(b *source.Batch) error {
	head := s.chain.stages[0]
	split := &s.splits[b.Split]
	position := (*s.positions.Load())[b.Split]
	if len(b.Records) > 0 {
		s.dirty.Store(true) // now: a batch may take longer than the interval
	}
	for i := range b.Records {
		// A barrier does not wait for the end of a batch: it could take longer than a checkpoint may.
		if len(s.barriers) > 0 && i > 0 {
			split.Offset, split.LeaderEpoch = b.Records[i].Offset, b.LeaderEpoch
			position.offset.Store(split.Offset)
			if err := s.barrier(<-s.barriers, true); err != nil {
				return err
			}
			s.dirty.Store(true)
		}
		if err := s.decode(b.Split, &b.Records[i]); err != nil {
			return err
		}
		if i%stepEvents == stepEvents-1 || i == len(b.Records)-1 {
			if err := s.makeRoom(i%stepEvents + 1); err != nil {
				return err
			}
		}
	}
	split.Offset, split.LeaderEpoch = b.Next, b.LeaderEpoch
	position.offset.Store(b.Next)
	if len(b.Records) == 0 {
		return nil
	}
	head.counts.recordsIn += int64(len(b.Records))
	head.counts.bytesIn += b.Bytes
	s.dirty.Store(true)
	if s.timed != nil {
		s.tellTime(b.Split, s.timed.MaxTimestamp(b.Split))
	}
	s.a.through()
	return s.generate()
}

// generate lets the chain's generators tell how far event time has come.
func (s *sourceSubtask) generate() error {
	for _, st := range s.chain.stages {
		if err := st.generate(); err != nil {
			return err
		}
	}
	return nil
}

// barrier snapshots the subtask; behind says that there are records behind the barrier that could have been before it.
func (s *sourceSubtask) barrier(id int64, behind bool) error {
	s.dirty.Store(false)
	s.chain.moved.Store(false)
	snap, err := s.chain.barrier(id)
	if err != nil {
		return err
	}
	snap.behind = behind
	for i := range s.splits {
		split := s.splits[i]
		split.MaxTimestamps = nil
		for _, st := range s.chain.stages {
			if g := st.impl.Generator; g != nil {
				if split.MaxTimestamps == nil {
					split.MaxTimestamps = map[string]int64{}
				}
				split.MaxTimestamps[st.node.Name] = g.MaxTimestamp(int32(i))
			}
		}
		snap.splits = append(snap.splits, splitPosition{s.node.Name, split})
	}
	return s.a.acknowledge(snap)
}

// clockSteps is how late a processing-time timer may be after the clock was set forward: a wait is not longer than that
// before the clock is looked at again.
const clockSteps = time.Second

// wake returns a channel that fires when the chain's next processing-time timer may be due.
func (s *subtask) wake() <-chan time.Time {
	next := s.chain.nextClock()
	if next == stream.MaxTime {
		return nil
	}
	d := clockSteps
	if left := next - s.a.now(); left < clockSteps.Milliseconds() {
		d = time.Duration(max(0, left)) * time.Millisecond
	}
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d)
	}
	return s.timer.C
}

func (s *subtask) clock() error {
	fired, err := s.chain.clock(s.a.now())
	if err != nil {
		return err
	}
	if fired {
		s.dirty.Store(true)
	}
	return s.idle()
}

// idle is called when there is nothing to do for the moment: what was buffered goes on.
func (s *subtask) idle() error {
	if err := s.chain.flush(); err != nil {
		return err
	}
	if s.a.atLeastOnce() {
		for _, w := range s.chain.writers {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// operatorSubtask runs a chain that other subtasks feed.
type operatorSubtask struct {
	subtask
	gate *gate
	// receive and from belong to the gate's channels: what takes a message's events, and who sends them.
	receive []func(any) error
	from    []stream.SubtaskID
	aligner *checkpoint.Aligner
	// began is when the first barrier of the open checkpoint came.
	began time.Time
}

func (s *operatorSubtask) run(ctx context.Context) error {
	if err := s.chain.resume(); err != nil {
		return err
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if next := s.chain.nextClock(); next != stream.MaxTime && next <= s.a.now() {
			if err := s.clock(); err != nil {
				return err
			}
		}
		ch, m, ok := s.gate.tryPop()
		if ok {
			if err := s.handle(ch, m); err != nil {
				return err
			}
			if err := s.makeRoom(max(m.events, 1)); err != nil {
				return err
			}
			continue
		}
		if err := s.idle(); err != nil {
			return err
		}
		if err := s.gate.wait(s.wake()); err != nil {
			return err
		}
	}
}

func (s *operatorSubtask) handle(ch int, m message) error {
	switch m.kind {
	case data:
		began, events := time.Now(), m.events
		err := s.receive[ch](m.data)
		s.gate.took(time.Since(began), events)
		return err
	case watermark:
		return s.chain.stages[0].setWatermark(ch, m.watermark, m.idle)
	}
	return s.align(ch, m.checkpoint)
}

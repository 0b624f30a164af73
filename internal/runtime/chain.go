package runtime

import (
	"errors"
	"fmt"
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
}

// stage is one step of a chain.
type stage struct {
	node  *Node
	ctx   *operators.Context
	impl  *Stage
	ports []portTime
	// watermark and idle are what was last handed on.
	watermark int64
	idle      bool
	// next are the steps of the same chain that read this one, and exchanges the channels to other tasks.
	next      []stagePort
	exchanges []*exchangeOut
	// moved notes that event time has moved: something that a checkpoint has to keep (rule 9).
	moved func()
	// counts are published by the end of a batch, so that a record costs no atomic operation.
	counts  counts
	metrics *StepMetrics
}

type counts struct{ recordsIn, bytesIn, recordsOut, bytesOut int64 }

type stagePort struct {
	stage *stage
	port  int
}

type portTime struct {
	watermark int64
	idle      bool
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

// setWatermark tells a stage what is known of time on one of its ports. When the least over the ports that are not idle
// moves on, the operator hears of it, and then the stages after it.
func (s *stage) setWatermark(port int, wm int64, idle bool) error {
	p := &s.ports[port]
	if wm > p.watermark {
		p.watermark = wm
	}
	p.idle = idle
	least, allIdle := stream.MaxTime, true
	for _, p := range s.ports {
		if !p.idle {
			allIdle = false
			least = min(least, p.watermark)
		}
	}
	if allIdle {
		least = s.watermark
	}
	if s.impl.Generator != nil && least != stream.MaxTime {
		return nil // a generator makes its own; it hands on only the end of the input
	}
	return s.advance(max(least, s.watermark), allIdle)
}

// advance hands a watermark to the operator and on. A watermark never goes back.
func (s *stage) advance(wm int64, idle bool) error {
	if wm == s.watermark && idle == s.idle {
		return nil
	}
	if wm > s.watermark {
		s.moved()
		if s.impl.OnWatermark != nil {
			if err := s.impl.OnWatermark(wm); err != nil {
				return s.locate(err)
			}
		}
	}
	s.watermark, s.idle = wm, idle
	s.metrics.Watermark.Store(wm)
	return s.handOn()
}

// handOn tells the steps after this one of its watermark.
func (s *stage) handOn() error {
	for _, n := range s.next {
		if err := n.stage.setWatermark(n.port, s.watermark, s.idle); err != nil {
			return err
		}
	}
	for _, x := range s.exchanges {
		if err := x.send(message{kind: watermark, watermark: s.watermark, idle: s.idle}); err != nil {
			return err
		}
	}
	return nil
}

// generate asks the stage's generator for the watermark.
func (s *stage) generate() error {
	if s.impl.Generator == nil || s.watermark == stream.MaxTime {
		return nil
	}
	wm, idle := s.impl.Generator.Watermark()
	return s.advance(max(wm, s.watermark), idle)
}

// stepError is an error with its place in the job. The place is added once, by the innermost step that knows it.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

func locate(kind, name string, err error) error {
	if err == nil {
		return nil
	}
	var at *stepError // after the check: it escapes, and this is the path of a record
	if errors.As(err, &at) {
		return err
	}
	return &stepError{step: kind + " " + name, err: err}
}

func (s *stage) locate(err error) error { return locate(s.node.role(), s.node.Name, err) }

func (n *Node) role() string {
	switch {
	case n.Source != nil:
		return "source"
	case n.Sink != nil:
		return "sink"
	}
	return "operator"
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

// evict makes the live maps of the chain smaller, if together they have more than budget bytes.
func (c *chain) evict(budget int64) {
	var tables []operators.Table
	var total int64
	for _, s := range c.stages {
		for _, t := range s.ctx.Tables() {
			tables = append(tables, t)
			total += t.Bytes()
		}
		entries, bytes := int64(0), int64(0)
		for _, t := range s.ctx.Tables() {
			entries += int64(t.Entries())
			bytes += t.Bytes()
		}
		s.metrics.StateEntries.Store(entries)
		s.metrics.StateBytes.Store(bytes)
	}
	if total <= budget {
		return
	}
	for _, t := range tables {
		// Each table gives up its share of what is too much, and a tenth more, so that this is not done at every barrier.
		t.Evict(int64(float64(t.Bytes()) * float64(budget) * 0.9 / float64(total)))
	}
}

// buildChain makes the steps of a subtask, from the last to the first, since each needs to know what comes after it.
func (a *attempt) buildChain(t *task, index int) (*chain, error) {
	c := &chain{subtask: stream.SubtaskID{Operator: t.name, Index: index}, byNode: map[*Node]*stage{}}
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := t.nodes[i]
		s, err := a.buildStage(c, t, n, index)
		if err != nil {
			return nil, locate(n.role(), fmt.Sprintf("%s/%d", n.Name, index), err)
		}
		c.stages = append([]*stage{s}, c.stages...)
		c.byNode[n] = s
	}
	return c, nil
}

func (a *attempt) buildStage(c *chain, t *task, n *Node, index int) (*stage, error) {
	s := &stage{node: n, watermark: stream.MinTime, metrics: a.metrics.step(n.Name, index)}
	if wm, ok := a.watermarks[n.Name]; ok && wm != stream.MaxTime {
		s.watermark = wm // the end of an input comes again: its source says so
	}
	s.moved = func() { c.moved.Store(true) }
	ports := len(n.Inputs)
	if len(t.inputs) > 0 && t.inputs[0].to == n {
		ports = 0
		for _, e := range t.inputs {
			ports += e.channels()
		}
	}
	if n.Source != nil {
		ports = 1
	}
	s.ports = make([]portTime, ports)
	for i := range s.ports {
		s.ports[i].watermark = s.watermark
	}
	s.ctx = &operators.Context{
		Subtask: stream.SubtaskID{Operator: n.Name, Index: index}, Parallelism: t.parallelism,
		Groups: stream.RangeOf(index, t.parallelism, a.keyGroups), KeyGroups: a.keyGroups,
		Store: a.store(), Now: a.now, Logger: a.logger.With("operator", n.Name, "subtask", index),
		Late: func() { s.metrics.Late.Add(1) },
	}
	// Every output is wired, whether or not the operator ever uses it: watermarks and barriers must get through.
	sides := map[string]any{}
	for _, tag := range a.graph.sidesOf(n) {
		sides[tag] = a.outputs(c, t, s, tag, index)
	}
	s.ctx.Side = func(tag string) any { return sides[tag] }
	if n.Sink != nil {
		return s, a.buildSink(c, s, index)
	}
	out := a.outputs(c, t, s, "", index)
	if n.Source != nil {
		s.impl = &Stage{In: []any{out}}
		return s, nil
	}
	var err error
	s.impl, err = n.Make(s.ctx, out)
	return s, err
}

// outputs makes the emit of one output of a step: to the steps of the chain that read it, and into the exchanges.
func (a *attempt) outputs(c *chain, t *task, s *stage, side string, index int) any {
	var outs []any
	typ := s.node.Type
	for _, n := range t.nodes {
		for port, in := range n.Inputs {
			next := c.byNode[n]
			if in.From != s.node || in.Side != side || next == nil {
				continue
			}
			typ = in.Type
			outs = append(outs, next.impl.In[port])
			s.next = append(s.next, stagePort{next, port})
		}
	}
	for _, e := range t.outputs {
		if e.from != s.node || e.input.Side != side {
			continue
		}
		typ = e.input.Type
		x := &exchangeOut{}
		if e.mode == forward {
			x.to = []*channel{a.gates[e.toTask][index].channels[e.firstInput]}
		} else {
			for j := range e.toTask.parallelism {
				x.to = append(x.to, a.gates[e.toTask][j].channels[e.firstInput+index])
			}
		}
		var out any
		out, x.flush = typ.sender(x.to, route{mode: e.mode, groups: a.keyGroups, from: index})
		outs = append(outs, out)
		s.exchanges = append(s.exchanges, x)
		c.exchange = append(c.exchange, x)
	}
	switch len(outs) {
	case 0:
		return typ.discard
	case 1:
		return outs[0]
	}
	return typ.fanOut(outs)
}

func (a *attempt) buildSink(c *chain, s *stage, index int) error {
	w, err := a.tx.Writer(a.ctx, s.node.Sink.Spec.Kafka.Topic)
	if err != nil {
		return err
	}
	c.writers = append(c.writers, w)
	bad := &badRecords{policy: s.node.Sink.BadRecord.Policy, step: s.node.Name, count: func() { s.metrics.BadRecords.Add(1) }}
	if bad.policy == PolicyDeadLetter {
		if bad.letters, err = a.tx.Writer(a.ctx, s.node.Sink.BadRecord.Topic); err != nil {
			return err
		}
		c.writers = append(c.writers, bad.letters)
	}
	write := func(rec *stream.Record) error {
		s.counts.recordsOut++
		s.counts.bytesOut += int64(len(rec.Key) + len(rec.Value))
		err := w.Write(rec)
		if err == nil {
			return nil
		}
		var large *sink.TooLargeError
		if errors.As(err, &large) {
			return s.locate(bad.sink(rec, err))
		}
		return s.locate(err)
	}
	refuse := func(rec *stream.Record, err error) error { return s.locate(bad.sink(rec, err)) }
	s.impl = &Stage{In: []any{s.node.Sink.Encode(write, refuse)}}
	return nil
}

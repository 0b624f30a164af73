package runtime

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/stream"
)

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

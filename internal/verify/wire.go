package verify

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// step is one step of the graph in the loop: one subtask that owns every key.
type step struct {
	index int
	node  *runtime.Node
	ctx   *operators.Context
	stage *runtime.Stage
	// parallelism is that of the job, for which exchanges there are.
	parallelism int
	// watermark is what the step was last told; limit is how far event time had come here at p0, and at p1.
	watermark int64
	limit     [2]int64
	// bound is how late events of an event_time step may be, in milliseconds.
	bound int64
	// timers are the event-time timers of a user's own operator.
	timers operators.Table
	// trusted: the user says that its results depend on the input alone.
	trusted bool
	// doubtful says why all results of the step are doubtful, "" if they are not; doubts why those of some keys are.
	doubtful string
	doubts   map[string]string
	// firing: the step is being told of a watermark.
	firing bool
}

// maxDoubts bounds the keys that a step remembers as doubtful; with more, all are.
const maxDoubts = 100_000

func (s *step) doubt(key []byte, reason string) {
	if s.trusted || s.doubtful != "" {
		return
	}
	if _, known := s.doubts[string(key)]; known {
		return
	}
	if len(s.doubts) >= maxDoubts {
		s.doubtful = reason
		return
	}
	if s.doubts == nil {
		s.doubts = map[string]string{}
	}
	s.doubts[string(key)] = reason
}

// why says why a key of the step is doubtful, "" if it is not.
func (s *step) why(key []byte) string {
	if s.doubtful != "" || len(s.doubts) == 0 {
		return s.doubtful
	}
	return s.doubts[string(key)]
}

// wire makes the steps, from the last to the first, since each needs to know what comes after it.
func (l *loop) wire(graph *runtime.Graph) error {
	for i, n := range graph.Nodes {
		s := &step{index: i, node: n, parallelism: n.ParallelismOf(l.job.Parallelism), watermark: stream.MinTime}
		s.trusted = slices.Contains(l.opts.Trust, n.Name)
		l.steps = append(l.steps, s)
		l.byNode[n] = s
	}
	for _, name := range l.opts.Trust {
		if !slices.ContainsFunc(l.steps, func(s *step) bool { return s.node.Name == name }) {
			return refuse("", "trust: the job has no operator %q", name)
		}
	}
	for _, s := range slices.Backward(l.steps) {
		if err := l.open(s); err != nil {
			return fmt.Errorf("%s %s: %w", s.node.Role(), s.node.Name, err)
		}
	}
	return nil
}

func (l *loop) open(s *step) error {
	n := s.node
	s.ctx = &operators.Context{
		Subtask: stream.SubtaskID{Operator: n.Name}, Parallelism: 1,
		Groups: stream.RangeOf(0, 1, l.keyGroups), KeyGroups: l.keyGroups, Store: l.store,
		Now: func() int64 { return l.clock(s) }, Logger: slog.New(slog.DiscardHandler), Late: func() {},
	}
	sides := map[string]any{}
	for _, m := range l.steps {
		for _, in := range m.node.Inputs {
			if in.From == n && in.Side != "" {
				sides[in.Side] = nil
			}
		}
	}
	for tag := range sides {
		sides[tag] = l.outputs(s, tag)
	}
	s.ctx.Side = func(tag string) any { return sides[tag] }
	switch {
	case n.Sink != nil:
		s.stage = &runtime.Stage{In: []any{l.sink(s)}}
		return nil
	case n.Source != nil:
		s.stage = &runtime.Stage{In: []any{l.outputs(s, "")}}
		return nil
	}
	var err error
	if s.stage, err = n.Make(s.ctx, l.outputs(s, "")); err != nil {
		return err
	}
	for _, t := range s.ctx.Tables() {
		if (n.Kind == "process" || n.Kind == "connect") && t.Desc().Kind == "timers" && t.Desc().Name == "timers" {
			s.timers = t
		}
	}
	if s.stage.Generator != nil {
		s.bound, err = boundOf(n)
	}
	return err
}

// boundOf finds out the bound of an event_time step from what an instance of its own answers.
func boundOf(n *runtime.Node) (int64, error) {
	probe, err := n.Make(&operators.Context{Now: func() int64 { return 0 }}, n.Type.Discard())
	if err != nil {
		return 0, err
	}
	probe.Generator.OpenSplit(0, 0)
	wm, _ := probe.Generator.Watermark()
	return -wm - 1, nil
}

// outputs makes the emit of one output of a step.
func (l *loop) outputs(s *step, side string) any {
	var outs []any
	typ := s.node.Type
	for _, m := range l.steps {
		for port, in := range m.node.Inputs {
			if in.From != s.node || in.Side != side {
				continue
			}
			typ = in.Type
			outs = append(outs, in.Type.Tap(m.stage.In[port], l.edge(s, m, port), l.back))
		}
	}
	switch len(outs) {
	case 0:
		return typ.Discard()
	case 1:
		return outs[0]
	}
	return typ.FanOut(outs)
}

// edge is what happens to what is known of an event on its way from one step to the next.
func (l *loop) edge(from, to *step, port int) func(key []byte, timestamp int64) error {
	in := to.node.Inputs[port]
	return func(key []byte, timestamp int64) error {
		l.stack = append(l.stack, l.now)
		if l.refusal != nil {
			return l.refusal
		}
		now := &l.now
		if from.node.Keyed {
			// The results of a key follow each other, whatever led to them.
			now.lane = lane(0).then(uint64(from.index)).thenKey(key)
			if from.firing {
				now.latest = stream.MinTime // it is not later than the watermark that made it
			}
			if from.trusted {
				now.doubt = -1
			} else if from.why(key) != "" {
				now.doubt = int32(from.index)
			}
		}
		if from.stage.Generator != nil {
			// Event time has come so far at most: the event's own partition holds it back.
			now.latest = from.back(from.stage.Generator.MaxTimestamp(l.split))
		}
		switch {
		case in.Hash:
			now.lane = now.lane.thenKey(key)
		case from.parallelism != to.parallelism && key != nil:
			now.lane = now.lane.then(1).thenKey(key)
		}
		if len(to.node.Inputs) > 1 {
			now.lane = now.lane.then(uint64(port) + 2)
		}
		if to.node.Keyed {
			return l.arrive(to, key, timestamp)
		}
		return nil
	}
}

// back ends what edge began.
func (l *loop) back() {
	l.now = l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
}

// orderless are the kinds whose results, as a bag, do not depend on the order of what comes in.
var orderless = []string{"window_count", "interval_join"}

// running are the kinds whose results tell of each event, so that two lanes of a key make other results as a rule.
var running = []string{"count", "reduce", "aggregate"}

// arrive looks at an event before a keyed operator does.
func (l *loop) arrive(s *step, key []byte, timestamp int64) error {
	now := &l.now
	if now.doubt >= 0 && !s.trusted {
		s.doubt(key, "what it reads is doubtful")
	}
	if s.stage.InTime != nil && !s.stage.InTime(timestamp, now.latest) {
		s.doubt(key, "a record came later than its event_time step allows for: whether it was in time depends on how far the input had been read ("+l.where()+")")
	}
	if l.opts.Last {
		return nil
	}
	if s.timers != nil && s.timers.Entries() > 0 && s.doubtful == "" && !s.trusted {
		s.doubtful = "it sets event-time timers: what it knows when one fires depends on how far the input had been read"
	}
	if slices.Contains(orderless, s.node.Kind) || s.trusted {
		return nil
	}
	first, err := l.lanes.first(s.index, key, firstSeen{now.lane, now.topic, now.partition})
	if err != nil || first.lane == now.lane {
		return err
	}
	reason := "its records came from " + l.apart(first)
	if slices.Contains(running, s.node.Kind) {
		l.refusal = refuse(s.node.Name, "its results depend on how partitions interleave: key %s is in %s; --last compares the last value of each key", sample(key), l.apart(first))
		return l.refusal
	}
	s.doubt(key, reason)
	return nil
}

// apart says in which two places a key was first, and is now.
func (l *loop) apart(first firstSeen) string {
	a, b := l.topics[first.topic], l.topics[l.now.topic]
	switch {
	case a != b:
		return fmt.Sprintf("topic %s partition %d and topic %s partition %d", a, first.partition, b, l.now.partition)
	case first.partition != l.now.partition:
		return fmt.Sprintf("partitions %d and %d of topic %s", min(first.partition, l.now.partition), max(first.partition, l.now.partition), a)
	}
	return fmt.Sprintf("partition %d of topic %s by two ways, or two keys, through the job", first.partition, a)
}

func (l *loop) where() string {
	return Position{l.topics[l.now.topic], l.now.partition, l.now.offset}.String()
}

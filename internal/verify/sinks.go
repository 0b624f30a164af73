package verify

import (
	"slices"
	"strconv"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/stream"
)

// written lists the topics that a job writes: of its sinks, and of bad records.
func written(g *runtime.Graph) []string {
	var topics []string
	add := func(name string) {
		if name != "" && !slices.Contains(topics, name) {
			topics = append(topics, name)
		}
	}
	for _, n := range g.Nodes {
		if n.Sink != nil {
			add(n.Sink.Spec.Kafka.Topic)
		}
	}
	for _, n := range g.Nodes {
		if n.Sink != nil {
			add(n.Sink.BadRecord.Topic)
		}
		if n.Source != nil {
			add(n.Source.BadRecord.Topic)
		}
	}
	return topics
}

func (l *loop) number(topic string) uint8 {
	return uint8(slices.Index(l.topics, topic)) // at most maxTopics
}

// sink makes the emit that encodes results and notes them.
func (l *loop) sink(s *step) any {
	n := s.node.Sink
	topic := l.number(n.Spec.Kafka.Topic)
	write := func(rec *stream.Record) error { return l.write(topic, uint64(s.index), rec) }
	refuse := func(rec *stream.Record, cause error) error {
		return l.bad(s.node.Name, n.BadRecord, rec, cause, uint64(s.index))
	}
	return n.Encode(write, refuse)
}

// write notes a record that the output must have.
func (l *loop) write(topic uint8, way uint64, rec *stream.Record) error {
	now := &l.now
	e := wantedEntry{lane: uint64(now.lane.then(way)), doubt: now.doubt, optional: l.phase > 0}
	if now.known {
		e.inputTopic, e.inputPartition, e.inputOffset = now.topic+1, now.partition, now.offset
	}
	return l.ledger.want(topic, rec, &e)
}

// bad does with a bad record what the step's policy says. The letter is what docs/operations.md says of it.
func (l *loop) bad(step string, policy runtime.BadRecord, rec *stream.Record, cause error, way uint64) error {
	l.report.BadRecords++
	switch policy.Policy {
	case runtime.PolicySkip:
		return nil
	case runtime.PolicyDeadLetter:
		letter := *rec
		letter.Headers = slices.Clone(rec.Headers)
		add := func(name, value string) {
			letter.Headers = append(letter.Headers, stream.Header{Key: name, Value: []byte(value)})
		}
		add("weir.step", step)
		add("weir.error", cause.Error())
		if rec.Topic != "" {
			add("weir.topic", rec.Topic)
			add("weir.partition", strconv.Itoa(int(rec.Partition)))
			add("weir.offset", strconv.FormatInt(rec.Offset, 10))
			add("weir.timestamp", strconv.FormatInt(rec.Timestamp, 10))
		}
		return l.write(l.number(policy.Topic), way, &letter)
	}
	return &runtime.BadRecordError{Where: l.where() + ": the job went past it, but computed once more it is a bad record: is this the job that ran?", Err: cause}
}

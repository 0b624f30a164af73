package source

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/checkpoint"
)

// view is what the brokers say about a source's topics, as far as resolving needs it.
type view map[string]*topicView

type topicView struct {
	id         [16]byte
	partitions map[int32]*partitionView
}

type partitionView struct {
	// start is the first offset of the log, high the one after its last record, readable the one after the last
	// that the isolation lets read.
	start, readable, high int64
	// startAt and stopAt are the first offsets not before the timestamps of the options; -1 if there are none.
	startAt, stopAt int64
	// committed is what the start group committed, with the epoch of the record before it; nil if nothing.
	committed *groupOffset
	// epochEnd is where the leader epoch of the restored split ends; -1 if unknown.
	epochEnd int64
}

// resolution is the outcome of resolving: splits to read, and losses that on_data_loss lets pass.
type resolution struct {
	splits []checkpoint.Split
	passed []*DataLossError
}

// resolve decides where reading begins and ends. Restored splits stay as they are, or it fails; what the brokers list can
// only add to them.
func resolve(o *KafkaOptions, v view, restored []checkpoint.Split) (resolution, error) {
	var r resolution
	have := map[partitionKey]bool{}
	fixed := false // the restored job had an end
	for _, s := range restored {
		fixed = fixed || s.Stop >= 0
	}
	for _, s := range restored {
		key := partitionKey{s.Topic, s.Partition}
		if have[key] {
			return r, &RestoreError{s.Topic, s.Partition, "is restored twice"}
		}
		have[key] = true
		s, loss, err := restoreSplit(o, v, s)
		if err != nil {
			return r, err
		}
		if loss != nil {
			r.passed = append(r.passed, loss)
		}
		r.splits = append(r.splits, s)
	}
	for _, topic := range o.Topics {
		t := v[topic]
		if t == nil {
			return r, &MissingTopicError{Topic: topic}
		}
		for _, partition := range slices.Sorted(maps.Keys(t.partitions)) {
			if have[partitionKey{topic, partition}] {
				continue
			}
			if restored != nil && o.bounded() && fixed {
				continue // it came after the end was fixed: it is no part of this input
			}
			s, loss, err := newSplit(o, t, topic, partition, restored != nil)
			if err != nil {
				return r, err
			}
			if loss != nil {
				r.passed = append(r.passed, loss)
			}
			r.splits = append(r.splits, s)
		}
	}
	return r, checkListed(o, v)
}

// restoreSplit checks a restored split, and fixes its end if the job has only now got a stop_at.
func restoreSplit(o *KafkaOptions, v view, s checkpoint.Split) (checkpoint.Split, *DataLossError, error) {
	if !slices.Contains(o.Topics, s.Topic) {
		return s, nil, &RestoreError{s.Topic, s.Partition, "the checkpoint reads it, the source does not list the topic: list it again, or start fresh"}
	}
	t := v[s.Topic]
	if t == nil {
		return s, nil, &MissingTopicError{Topic: s.Topic}
	}
	if s.TopicID == [16]byte{} {
		s.TopicID = t.id // a rewritten savepoint may leave it open
	}
	if s.TopicID != t.id {
		return s, nil, &TopicRecreatedError{Topic: s.Topic, Was: s.TopicID, Is: t.id}
	}
	p := t.partitions[s.Partition]
	if p == nil {
		return s, nil, &RestoreError{s.Topic, s.Partition, fmt.Sprintf("the topic has only %d partitions", len(t.partitions))}
	}
	switch {
	case !o.bounded():
		s.Stop, s.Done = -1, false
	case s.Stop < 0:
		stop, err := stopOf(o, p, s.Topic, s.Partition)
		if err != nil {
			return s, nil, err
		}
		s.Stop = stop
	}
	if s.Stop >= 0 && s.Offset >= s.Stop {
		s.Done = true
	}
	if s.Done {
		return s, nil, nil
	}
	return checkOffset(o, p, s)
}

// newSplit makes a split for a partition that is not restored.
func newSplit(o *KafkaOptions, t *topicView, topic string, partition int32, late bool) (checkpoint.Split, *DataLossError, error) {
	p := t.partitions[partition]
	s := checkpoint.Split{Topic: topic, TopicID: t.id, Partition: partition, Offset: p.start, LeaderEpoch: -1, Stop: -1}
	if !late {
		switch o.Start {
		case "latest":
			s.Offset = p.readable
		case "timestamp":
			s.Offset = p.startAt
			if s.Offset < 0 {
				s.Offset = p.readable
			}
		case "group":
			if p.committed != nil {
				s.Offset, s.LeaderEpoch = p.committed.offset, p.committed.epoch
			}
		case "offsets":
			if at, ok := o.StartOffsets[topic][partition]; ok {
				if at > p.high {
					return s, nil, &OptionError{"start_offsets", topic, partition, fmt.Sprintf("offset %d is beyond the end of the log (%d)", at, p.high)}
				}
				s.Offset = at
			}
		}
	}
	if o.bounded() {
		stop, err := stopOf(o, p, topic, partition)
		if err != nil {
			return s, nil, err
		}
		s.Stop = stop
		if s.Offset >= s.Stop {
			s.Done = true
			return s, nil, nil
		}
	}
	return checkOffset(o, p, s)
}

func stopOf(o *KafkaOptions, p *partitionView, topic string, partition int32) (int64, error) {
	switch o.StopAt {
	case "timestamp":
		if p.stopAt >= 0 {
			return p.stopAt, nil
		}
	case "offsets":
		stop, ok := o.StopOffsets[topic][partition]
		if !ok {
			return 0, &OptionError{"stop_offsets", topic, partition, "is not listed: every partition needs an end"}
		}
		return stop, nil
	}
	return p.readable, nil
}

// checkOffset makes sure that what stands before and at a split's offset is still what it was.
func checkOffset(o *KafkaOptions, p *partitionView, s checkpoint.Split) (checkpoint.Split, *DataLossError, error) {
	cut := min(p.high, s.Offset)
	if p.epochEnd >= 0 {
		cut = min(cut, p.epochEnd)
	}
	if cut < s.Offset {
		return s, nil, &DataLossError{Kind: LossTruncated, Topic: s.Topic, Partition: s.Partition, Offset: s.Offset, LogEnd: cut}
	}
	if s.Offset >= p.start {
		return s, nil, nil
	}
	loss := &DataLossError{Kind: LossExpired, Topic: s.Topic, Partition: s.Partition, Offset: s.Offset, LogStart: p.start}
	if o.OnDataLoss != "earliest" {
		return s, nil, loss
	}
	s.Offset, s.LeaderEpoch = p.start, -1
	s.Done = s.Stop >= 0 && s.Offset >= s.Stop
	return s, loss, nil
}

// checkListed refuses offsets in the options for partitions that do not exist: a typing mistake would else be silent.
func checkListed(o *KafkaOptions, v view) error {
	for _, f := range []struct {
		option  string
		offsets map[string]map[int32]int64
	}{{"start_offsets", o.StartOffsets}, {"stop_offsets", o.StopOffsets}} {
		for _, topic := range slices.Sorted(maps.Keys(f.offsets)) {
			for _, partition := range slices.Sorted(maps.Keys(f.offsets[topic])) {
				if v[topic].partitions[partition] == nil {
					return &OptionError{f.option, topic, partition, fmt.Sprintf("the topic has only %d partitions", len(v[topic].partitions))}
				}
			}
		}
	}
	return nil
}

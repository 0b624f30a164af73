package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
)

// preflight refuses a start that cannot succeed before it fences anybody: a job that runs is not disturbed by a typing
// error. What it reads may be out of date a moment later, so resolve looks again.
func (a *attempt) preflight(ctx context.Context) error {
	logged, err := a.log.List(ctx, 1)
	if err != nil {
		return err
	}
	var last *checkpoint.Pointer
	if len(logged) > 0 {
		if last, err = checkpoint.LoadPointer(ctx, a.files, logged[0].Value); err != nil {
			return err
		}
	}
	// The group's offset is of another moment than the pointer, so it is not compared here.
	_, _, err = a.decide(ctx, last, 0, 0)
	return err
}

// resolve reads what there is and decides what to begin with.
func (a *attempt) resolve(ctx context.Context) (*checkpoint.Resolution, error) {
	last, offset, err := a.lastPointer(ctx)
	if err != nil {
		return nil, err
	}
	group, err := a.groupCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	res, topics, err := a.decide(ctx, last, offset, group)
	if err != nil {
		return nil, err
	}
	a.lastOffset = offset
	a.restored = checkpointOf(res.Pointer)
	a.kind = res.Kind
	a.job.recovered.Store(&recovered{attempt: a.id, began: checkpointOf(last)})
	a.last = a.firstPointer(res, topics)
	return res, nil
}

// decide says what the start does, given the last pointer. Its error is the refusal.
func (a *attempt) decide(ctx context.Context, last *checkpoint.Pointer, offset, group int64) (*checkpoint.Resolution, []checkpoint.Topic, error) {
	topics, err := a.sinkTopics(ctx)
	if err != nil {
		return nil, nil, err
	}
	request, savepoint, err := a.request(ctx, last)
	if err != nil {
		return nil, nil, err
	}
	s := checkpoint.Start{
		Job: checkpoint.Description{
			Name: a.cfg.Job, Shard: a.shard, Shards: 1, KeyGroups: a.keyGroups, Operators: a.describe(nil), Topics: topics,
		},
		Request: request, Last: last, LastOffset: offset, Savepoint: savepoint, Group: group, GroupID: a.cfg.Checkpoint.GroupID(a.cfg.Job),
		Topic: a.log.Topic(), NewLineage: uuid.NewString(),
	}
	for i := range s.Job.Operators {
		s.Job.Operators[i].States = nil // not declared yet: see checkStates
	}
	for _, n := range a.graph.Nodes {
		if n.Source == nil {
			continue
		}
		s.Job.Sources = append(s.Job.Sources, n.Name)
		for _, t := range n.Source.Spec.Kafka.Topics {
			s.Job.Topics = append(s.Job.Topics, checkpoint.Topic{Role: "source", Step: n.Name, Name: t})
		}
	}
	res := checkpoint.Resolve(s)
	return &res, topics, res.Err
}

func checkpointOf(p *checkpoint.Pointer) int64 {
	if p == nil {
		return 0
	}
	return p.Checkpoint
}

// lastPointer returns the last committed pointer, complete, and its offset; nil if there is none.
func (a *attempt) lastPointer(ctx context.Context) (*checkpoint.Pointer, int64, error) {
	logged, err := a.log.Last(ctx)
	if err != nil || logged == nil {
		return nil, 0, err
	}
	p, err := checkpoint.LoadPointer(ctx, a.files, logged.Value)
	if err != nil {
		return nil, 0, fmt.Errorf("topic %s partition %d offset %d: %w", a.log.Topic(), a.shard, logged.Offset, err)
	}
	return p, logged.Offset, nil
}

// groupCheckpoint is the checkpoint ID that the group's offset for the checkpoint partition has as metadata (rule 11).
func (a *attempt) groupCheckpoint(ctx context.Context) (int64, error) {
	_, metadata, ok, err := a.log.GroupOffset(ctx)
	if err != nil || !ok {
		return 0, err
	}
	id, err := strconv.ParseInt(metadata, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("group %s: offset of topic %s: metadata %q is not a checkpoint ID", a.cfg.Checkpoint.GroupID(a.cfg.Job), a.log.Topic(), metadata)
	}
	return id, nil
}

// sinkTopics looks up the topics that the job writes, and reports all that are missing, those that it reads included.
func (a *attempt) sinkTopics(ctx context.Context) ([]checkpoint.Topic, error) {
	var topics []checkpoint.Topic
	var read []string
	for _, n := range a.graph.Nodes {
		switch {
		case n.Sink != nil:
			topics = append(topics, checkpoint.Topic{Role: "sink", Step: n.Name, Name: n.Sink.Spec.Kafka.Topic})
			if t := n.Sink.BadRecord.Topic; t != "" {
				topics = append(topics, checkpoint.Topic{Role: "sink", Step: n.Name, Name: t})
			}
		case n.Source != nil:
			if t := n.Source.BadRecord.Topic; t != "" {
				topics = append(topics, checkpoint.Topic{Role: "sink", Step: n.Name, Name: t})
			}
			if n.Source.Kafka == nil {
				read = append(read, n.Source.Spec.Kafka.Topics...)
			}
		}
	}
	cluster := kafka.NewCluster(a.client)
	var missing []string
	lookup := func(name string) (id [16]byte, err error) {
		found, err := cluster.Topics(ctx, name)
		if errors.Is(err, kafka.ErrNoTopic) {
			if !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
			return id, nil
		}
		if err != nil {
			return id, err
		}
		return found[0].ID, nil
	}
	for _, name := range read {
		if _, err := lookup(name); err != nil {
			return nil, err
		}
	}
	for i, t := range topics {
		id, err := lookup(t.Name)
		if err != nil {
			return nil, locate("sink", t.Step, err)
		}
		topics[i].ID = id
	}
	switch len(missing) {
	case 0:
		return topics, nil
	case 1:
		return nil, &kafka.TopicError{Topic: missing[0], Err: kafka.ErrNoTopic}
	}
	return nil, fmt.Errorf("topics %s: %w", strings.Join(missing, ", "), kafka.ErrNoTopic)
}

// firstPointer is the pointer that the attempt begins with, as far as it is known before anything is restored.
func (a *attempt) firstPointer(res *checkpoint.Resolution, topics []checkpoint.Topic) *checkpoint.Pointer {
	host, _ := os.Hostname()
	p := &checkpoint.Pointer{
		Job: a.cfg.Job, Shard: a.shard, Shards: 1, Checkpoint: res.Last + 1, Attempt: a.id,
		Lineage: res.Lineage, Host: host, Time: a.now(), Request: res.Request, First: true, KeyGroups: a.keyGroups,
		Topics: topics, Unfinished: res.Unfinished, From: a.from(res),
	}
	return p
}

package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// requestTimeout bounds one request to a broker.
	requestTimeout = 10 * time.Second
	// lookupTimeout bounds a lookup with all its retries.
	lookupTimeout = 20 * time.Second
	// missingTries is how often a topic must be reported missing before that is believed: a broker that has just started,
	// or has just been told of the topic, may not know it for a moment.
	missingTries = 3
	missingPause = 100 * time.Millisecond

	latestOffset   int64 = -1
	earliestOffset int64 = -2
)

// topicMeta is what metadata says about one topic.
type topicMeta struct {
	id         [16]byte
	partitions map[int32]partitionMeta
}

// partitionMeta tells who leads a partition; leader is -1 if nobody does at the moment.
type partitionMeta struct{ leader, epoch int32 }

// lookup asks the brokers of one cluster. It never creates a topic.
type lookup struct{ client *kgo.Client }

// metadata describes the topics. A topic that does not exist has no entry; one whose partitions are not known yet is
// kerr.LeaderNotAvailable. It is asked of a broker each time: kgo's cache may be seconds old.
func (l lookup) metadata(ctx context.Context, topics []string) (map[string]topicMeta, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	for _, t := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, rt)
	}
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	found := map[string]topicMeta{}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil {
			continue
		}
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
			continue
		case err != nil:
			return nil, fmt.Errorf("topic %s: metadata: %w", *t.Topic, err)
		}
		m := topicMeta{id: t.TopicID, partitions: map[int32]partitionMeta{}}
		for _, p := range t.Partitions {
			m.partitions[p.Partition] = partitionMeta{leader: p.Leader, epoch: p.LeaderEpoch}
		}
		if len(m.partitions) == 0 {
			return nil, fmt.Errorf("topic %s: metadata: %w", *t.Topic, kerr.LeaderNotAvailable)
		}
		found[*t.Topic] = m
	}
	return found, nil
}

// existing is metadata that insists: a topic that stays missing is a *MissingTopicError.
func (l lookup) existing(ctx context.Context, topics []string) (map[string]topicMeta, error) {
	for try := 1; ; try++ {
		found, err := l.metadata(ctx, topics)
		if err != nil {
			return nil, err
		}
		missing := ""
		for _, t := range topics {
			if _, ok := found[t]; !ok {
				missing = t
				break
			}
		}
		if missing == "" {
			return found, nil
		}
		if try == missingTries {
			return nil, &MissingTopicError{Topic: missing}
		}
		if err := pause(ctx, missingPause); err != nil {
			return nil, err
		}
	}
}

// offsets asks for the offset at a time (milliseconds, or latestOffset or earliestOffset) of every partition given; -1
// if there is none. With committedOnly the latest is the last stable offset.
func (l lookup) offsets(ctx context.Context, at int64, committedOnly bool, partitions map[string][]int32) (map[partitionKey]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := kmsg.NewPtrListOffsetsRequest()
	req.TimeoutMillis = int32(requestTimeout.Milliseconds())
	if committedOnly {
		req.IsolationLevel = 1
	}
	want := 0
	for topic, ps := range partitions {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, partition := range ps {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = partition, at
			t.Partitions = append(t.Partitions, p)
			want++
		}
		req.Topics = append(req.Topics, t)
	}
	found := map[partitionKey]int64{}
	for _, shard := range l.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, fmt.Errorf("list offsets: %w", shard.Err)
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, fmt.Errorf("topic %s partition %d: list offsets: %w", t.Topic, p.Partition, err)
				}
				found[partitionKey{t.Topic, p.Partition}] = p.Offset
			}
		}
	}
	if len(found) < want {
		return nil, fmt.Errorf("list offsets: %d of %d partitions answered: %w", len(found), want, kerr.LeaderNotAvailable)
	}
	return found, nil
}

// epochEnds asks where leader epochs end; a partition whose log does not tell has no entry.
func (l lookup) epochEnds(ctx context.Context, epochs map[string]map[int32]int32) (map[partitionKey]int64, error) {
	found := map[partitionKey]int64{}
	if len(epochs) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := kadm.NewClient(l.client).OffsetForLeaderEpoch(ctx, epochs)
	if err != nil {
		return nil, fmt.Errorf("leader epochs: %w", err)
	}
	for topic, ps := range answer {
		for partition, p := range ps {
			if p.Err != nil {
				return nil, fmt.Errorf("topic %s partition %d: leader epoch: %w", topic, partition, p.Err)
			}
			if p.LeaderEpoch >= 0 && p.EndOffset >= 0 {
				found[partitionKey{topic, partition}] = p.EndOffset
			}
		}
	}
	return found, nil
}

// groupOffset is an offset that a consumer group committed, and the leader epoch of the record before it (-1: unknown).
type groupOffset struct {
	offset int64
	epoch  int32
}

// committed asks for the offsets of a group, once its open transactions are decided.
func (l lookup) committed(ctx context.Context, group string) (map[partitionKey]groupOffset, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	admin := kadm.NewClient(l.client)
	answer, err := admin.FetchOffsets(kadm.RequireStable(ctx), group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("group %s: offsets: %w", group, err)
	}
	found := map[partitionKey]groupOffset{}
	for topic, ps := range answer {
		for partition, p := range ps {
			if p.Err != nil {
				return nil, fmt.Errorf("group %s: topic %s partition %d: offset: %w", group, topic, partition, p.Err)
			}
			if p.At >= 0 {
				found[partitionKey{topic, partition}] = groupOffset{offset: p.At, epoch: p.LeaderEpoch}
			}
		}
	}
	return found, nil
}

// patiently repeats f while it fails with what goes by itself (a leader being elected), for lookupTimeout at most.
func patiently[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		v, err := f(limited)
		if err == nil || !passes(err) || limited.Err() != nil {
			return v, err
		}
		if pause(limited, wait) != nil {
			if ctx.Err() != nil {
				return v, ctx.Err()
			}
			return v, err
		}
	}
}

// passes reports whether a broker's error goes by itself.
func passes(err error) bool {
	var ke *kerr.Error
	return errors.As(err, &ke) && ke.Retriable
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrNoTopic is the error of a topic that does not exist.
var ErrNoTopic = errors.New("the topic does not exist")

// TopicError says which topic an error is about.
type TopicError struct {
	Topic string
	Err   error
}

func (e *TopicError) Error() string { return "topic " + e.Topic + ": " + e.Err.Error() }

// Unwrap returns the error below.
func (e *TopicError) Unwrap() error { return e.Err }

// NoTopicsError names several topics that do not exist. It is an [ErrNoTopic].
type NoTopicsError struct{ Topics []string }

func (e *NoTopicsError) Error() string {
	return "topics " + strings.Join(e.Topics, ", ") + ": they do not exist"
}

// Unwrap returns ErrNoTopic.
func (e *NoTopicsError) Unwrap() error { return ErrNoTopic }

// Partition is one partition of a topic.
type Partition struct {
	Index int32
	// Leader is the broker that leads it, -1 if none does at the moment.
	Leader      int32
	LeaderEpoch int32
	Replicas    []int32
	ISR         []int32
}

// Topic is a topic and its partitions, ordered by index.
type Topic struct {
	Name       string
	ID         [16]byte
	Partitions []Partition
}

// TopicSettings are the settings of a topic that matter to a job.
type TopicSettings struct {
	// CleanupPolicy is delete, compact or compact,delete.
	CleanupPolicy string
	// MaxMessageBytes is the size of the largest record batch that the topic takes, compressed, in bytes.
	MaxMessageBytes int
	// RetentionMs and RetentionBytes bound what is kept; -1 is for ever.
	RetentionMs, RetentionBytes int64
	// TimestampType is CreateTime or LogAppendTime.
	TimestampType string
	// Compression is compression.type: producer, or what brokers compress with themselves.
	Compression string
}

// Topics returns topics by name, in the order asked for. One that does not exist is a [*TopicError] around [ErrNoTopic];
// nothing is created.
func (c *Cluster) Topics(ctx context.Context, names ...string) ([]Topic, error) {
	there, err := c.Existing(ctx, names...)
	if err != nil {
		return nil, err
	}
	topics := make([]Topic, 0, len(names))
	for _, name := range names {
		t, ok := there[name]
		if !ok {
			return nil, &TopicError{name, ErrNoTopic}
		}
		topics = append(topics, t)
	}
	return topics, nil
}

// Existing returns those of the topics that exist, with one request.
func (c *Cluster) Existing(ctx context.Context, names ...string) (map[string]Topic, error) {
	ctx, cancel := WithDeadline(ctx, callTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, fmt.Errorf("asking for topics: %w", err)
	}
	there := make(map[string]Topic, len(names))
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		topic, err := topicOf(t)
		if errors.Is(err, ErrNoTopic) {
			continue
		}
		if err != nil {
			return nil, &TopicError{*t.Topic, err}
		}
		there[topic.Name] = topic
	}
	return there, nil
}

func topicOf(t kmsg.MetadataResponseTopic) (Topic, error) {
	err := kerr.ErrorForCode(t.ErrorCode)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return Topic{}, ErrNoTopic
	case err != nil && !errors.Is(err, kerr.LeaderNotAvailable):
		return Topic{}, err
	}
	topic := Topic{Name: *t.Topic, ID: t.TopicID}
	for _, p := range t.Partitions {
		leader := p.Leader
		if p.ErrorCode != 0 && p.ErrorCode != kerr.ReplicaNotAvailable.Code {
			leader = -1
		}
		topic.Partitions = append(topic.Partitions, Partition{
			Index: p.Partition, Leader: leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR,
		})
	}
	slices.SortFunc(topic.Partitions, func(a, b Partition) int { return cmp.Compare(a.Index, b.Index) })
	return topic, nil
}

// HasLeaders reports whether every partition has a leader.
func (t *Topic) HasLeaders() bool {
	return len(t.Partitions) > 0 && !slices.ContainsFunc(t.Partitions, func(p Partition) bool { return p.Leader < 0 })
}

// Topic returns one topic.
func (c *Cluster) Topic(ctx context.Context, name string) (Topic, error) {
	topics, err := c.Topics(ctx, name)
	if err != nil {
		return Topic{}, err
	}
	return topics[0], nil
}

// WaitTopic waits until the topic exists and each of its partitions has a leader, which takes a moment after its creation.
// The context's deadline, or one of 15 s, bounds the wait.
func (c *Cluster) WaitTopic(ctx context.Context, name string) (Topic, error) {
	ctx, cancel := WithDeadline(ctx, callTimeout)
	defer cancel()
	var backoff Backoff
	var last error // not the deadline's
	for {
		topic, err := c.Topic(ctx, name)
		switch {
		case err == nil && topic.HasLeaders():
			return topic, nil
		case err == nil:
			last = &TopicError{name, errors.New("not every partition has a leader")}
		case !errors.Is(err, ErrNoTopic) && !IsRetriable(err):
			return Topic{}, err
		case last == nil || ctx.Err() == nil:
			last = err
		}
		if !backoff.Wait(ctx) {
			return Topic{}, last
		}
	}
}

// WaitEverywhere waits until every broker knows a topic that has just been made: the one that was asked first may be ahead of
// the others, and the next question may go to any of them. Brokers that do not answer soon are left out.
func (c *Cluster) WaitEverywhere(ctx context.Context, name string) error {
	ctx, cancel := WithDeadline(ctx, callTimeout)
	defer cancel()
	question := func() *kmsg.MetadataRequest { // one for each request: kgo writes a version into it
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = false
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		req.Topics = []kmsg.MetadataRequestTopic{rt}
		return req
	}
	resp, err := question().RequestWith(ctx, c.cl)
	if err != nil {
		return fmt.Errorf("asking for topics: %w", err)
	}
	var wg sync.WaitGroup
	for _, b := range resp.Brokers {
		wg.Go(func() {
			once, cancel := WithDeadline(ctx, callTimeout/3)
			defer cancel()
			var backoff Backoff
			for {
				r, err := c.cl.Broker(int(b.NodeID)).Request(once, question())
				if err != nil {
					return
				}
				topics := r.(*kmsg.MetadataResponse).Topics
				if len(topics) == 1 && topics[0].ErrorCode == 0 || !backoff.Wait(once) {
					return
				}
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// TopicSettings reads the settings of a topic.
func (c *Cluster) TopicSettings(ctx context.Context, name string) (TopicSettings, error) {
	ctx, cancel := WithDeadline(ctx, callTimeout)
	defer cancel()
	names := []string{
		"cleanup.policy", "max.message.bytes", "retention.ms", "retention.bytes", "message.timestamp.type", "compression.type",
	}
	configs, err := c.configs(ctx, kmsg.ConfigResourceTypeTopic, name, names...)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return TopicSettings{}, &TopicError{name, ErrNoTopic}
	}
	if err != nil {
		return TopicSettings{}, err
	}
	s := TopicSettings{
		CleanupPolicy: configs["cleanup.policy"],
		TimestampType: configs["message.timestamp.type"],
		Compression:   configs["compression.type"],
	}
	for _, n := range []struct {
		name string
		set  func(int64)
	}{
		{"max.message.bytes", func(v int64) { s.MaxMessageBytes = int(v) }},
		{"retention.ms", func(v int64) { s.RetentionMs = v }},
		{"retention.bytes", func(v int64) { s.RetentionBytes = v }},
	} {
		v, err := strconv.ParseInt(configs[n.name], 10, 64)
		if err != nil {
			return TopicSettings{}, &TopicError{name, fmt.Errorf("%s is %q, not a number", n.name, configs[n.name])}
		}
		n.set(v)
	}
	return s, nil
}

// Backoff spaces out attempts: 5 ms at first, then twice as long each time, up to 250 ms. The zero value is ready.
type Backoff struct{ next time.Duration }

// Wait waits for the next attempt; false means that the context ended first.
func (b *Backoff) Wait(ctx context.Context) bool {
	timer := time.NewTimer(b.Next())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Next returns how long to wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	if b.next == 0 {
		b.next = 5 * time.Millisecond
	}
	d := b.next
	b.next = min(2*b.next, 250*time.Millisecond)
	return d
}

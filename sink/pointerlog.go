package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// LogConfig says which partition of which checkpoint topic a [PointerLog] is.
type LogConfig struct {
	// Topic is the job's checkpoint topic; Partition is the shard.
	Topic     string
	Partition int32
	// Group is the job's group.
	Group string
	// Partitions and Replication are those of a topic that is made: the number of partitions (default: enough for Partition) and
	// the replication factor (0 or -1: the brokers' default).
	Partitions  int
	Replication int
	// MaxMessageBytes is how large a pointer may be in a topic that is made. Default: 8 MiB, which hosted clusters take too.
	MaxMessageBytes int
	// Timeout bounds each call. Default: 15s.
	Timeout time.Duration
}

// PointerLog is a shard's partition of the checkpoint topic: the list of checkpoints that exist. Pointers get into it by
// [Transactions.WritePointer]; here they are read. It is safe for concurrent use once Ensure has returned.
type PointerLog struct {
	config  LogConfig
	client  *kgo.Client
	cluster *kafka.Cluster
	id      [16]byte
	count   int
	// most is the topic's max.message.bytes.
	most int
	// found is what Find has found, for Ensure; made says that Ensure has made the topic.
	found *foundLog
	made  bool
	// known is the topic with its leaders as last asked for, nil if it has to be asked for: see withLeader.
	known atomic.Pointer[kafka.Topic]
}

// NewPointerLog uses cl, which it does not close.
func NewPointerLog(cl *kgo.Client, c LogConfig) (*PointerLog, error) {
	if c.Topic == "" {
		return nil, errors.New("checkpoint topic: no name")
	}
	if c.Partition < 0 {
		return nil, fmt.Errorf("checkpoint topic %s: partition %d is negative", c.Topic, c.Partition)
	}
	if c.Partitions == 0 {
		c.Partitions = int(c.Partition) + 1
	}
	if c.Replication == 0 {
		c.Replication = -1
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = 8 << 20
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	return &PointerLog{config: c, client: cl, cluster: kafka.NewCluster(cl)}, nil
}

// Topic is the checkpoint topic's name.
func (l *PointerLog) Topic() string { return l.config.Topic }

// TopicID is the checkpoint topic's ID, known after Ensure.
func (l *PointerLog) TopicID() [16]byte { return l.id }

// Partitions is the number of partitions of the checkpoint topic, known after Ensure.
func (l *PointerLog) Partitions() int { return l.count }

// MaxPointerBytes is the size up to which a pointer fits even if it does not compress, known after Ensure.
func (l *PointerLog) MaxPointerBytes() int { return l.most - headerSize - 64 }

// wanted are the settings without which the topic loses pointers.
var wanted = []struct{ name, value, why string }{
	{"cleanup.policy", "delete", "compaction would remove pointers, and keep old ones from being deleted"},
	{"retention.ms", "-1", "Kafka would delete the pointers of a job that stands still"},
	{"retention.bytes", "-1", "Kafka would delete pointers that are still needed"},
}

type foundLog struct {
	topic    kafka.Topic
	settings kafka.TopicSettings
}

// Find looks for the checkpoint topic, and makes nothing: kafka.ErrNoTopic if there is none. Ensure need not ask again then. The
// two are not to be called at the same time.
func (l *PointerLog) Find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	var found foundLog
	var settingsErr error
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		found.settings, settingsErr = l.cluster.TopicSettings(ctx, l.config.Topic)
	}()
	var err error
	found.topic, err = l.cluster.Topic(ctx, l.config.Topic)
	if <-asked; err == nil && settingsErr == nil && found.topic.HasLeaders() {
		l.found = &found
		l.known.Store(&found.topic)
	}
	return err
}

// Made reports whether Ensure has made the topic, which has no pointer then.
func (l *PointerLog) Made() bool { return l.made }

// Ensure makes the checkpoint topic if it does not exist, waits for its leader, and checks the settings that pointers
// depend on; one that does not fit is an error that names it.
func (l *PointerLog) Ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	found := l.found
	if l.found = nil; found == nil {
		var err error
		if found, err = l.insist(ctx); err != nil {
			return fmt.Errorf("checkpoint topic: %w", err)
		}
	}
	topic, settings := found.topic, found.settings
	if int(l.config.Partition) >= len(topic.Partitions) {
		return fmt.Errorf("checkpoint topic %s: it has %d partitions, and partition %d is needed", topic.Name, len(topic.Partitions), l.config.Partition)
	}
	got := map[string]string{
		"cleanup.policy":  settings.CleanupPolicy,
		"retention.ms":    strconv.FormatInt(settings.RetentionMs, 10),
		"retention.bytes": strconv.FormatInt(settings.RetentionBytes, 10),
	}
	for _, w := range wanted {
		if got[w.name] != w.value {
			return fmt.Errorf("checkpoint topic %s: %s is %s and must be %s: %s", topic.Name, w.name, got[w.name], w.value, w.why)
		}
	}
	l.id, l.count, l.most = topic.ID, len(topic.Partitions), settings.MaxMessageBytes
	l.known.Store(&topic)
	return nil
}

// insist makes the topic if it does not exist, waits until it has leaders, and reads its settings.
func (l *PointerLog) insist(ctx context.Context) (found *foundLog, err error) {
	found = &foundLog{}
	found.topic, err = l.cluster.Topic(ctx, l.config.Topic)
	if errors.Is(err, kafka.ErrNoTopic) {
		if err = l.create(ctx); err != nil {
			return nil, err
		}
		everywhere := make(chan error, 1)
		go func() { everywhere <- l.cluster.WaitEverywhere(ctx, l.config.Topic) }()
		found.topic, err = l.cluster.WaitTopic(ctx, l.config.Topic)
		if waited := <-everywhere; err == nil {
			err = waited
		}
	} else if err == nil && !found.topic.HasLeaders() {
		found.topic, err = l.cluster.WaitTopic(ctx, l.config.Topic)
	}
	if err == nil {
		found.settings, err = l.settings(ctx)
	}
	return found, err
}

// settings asks again for a while: a topic that has just been made is not known to every broker.
func (l *PointerLog) settings(ctx context.Context) (kafka.TopicSettings, error) {
	var backoff kafka.Backoff
	for {
		s, err := l.cluster.TopicSettings(ctx, l.config.Topic)
		if err == nil || !errors.Is(err, kafka.ErrNoTopic) && !kafka.IsRetriable(err) || !backoff.Wait(ctx) {
			return s, err
		}
	}
}

func (l *PointerLog) create(ctx context.Context) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(l.config.Timeout.Milliseconds())
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = l.config.Topic
	topic.NumPartitions = int32(l.config.Partitions)
	topic.ReplicationFactor = int16(l.config.Replication)
	set := func(name, value string) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, &value
		topic.Configs = append(topic.Configs, c)
	}
	for _, w := range wanted {
		set(w.name, w.value)
	}
	set("max.message.bytes", strconv.Itoa(l.config.MaxMessageBytes))
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return &kafka.TopicError{Topic: topic.Topic, Err: err}
	}
	for _, t := range resp.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if l.made = err == nil; l.made || errors.Is(err, kerr.TopicAlreadyExists) {
			continue
		}
		if t.ErrorMessage != nil && *t.ErrorMessage != "" {
			err = fmt.Errorf("%w (%s)", err, *t.ErrorMessage)
		}
		return &kafka.TopicError{Topic: topic.Topic, Err: fmt.Errorf("making it: %w", err)}
	}
	return nil
}

// DeleteBefore deletes the records below an offset. They must be those that the last committed pointer does not list any
// more.
func (l *PointerLog) DeleteBefore(ctx context.Context, offset int64) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(l.config.Timeout.Milliseconds())
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = l.config.Topic
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = l.config.Partition, offset
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, l.client)
	if err == nil && (len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1) {
		err = errors.New("the broker did not answer for the partition")
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		return l.wrap(fmt.Errorf("deleting records below %d: %w", offset, err))
	}
	return nil
}

// groupOffset is the offset that the job's group has committed for this partition, and its metadata, the checkpoint ID; ok is
// false if there is none. It is an error while a transaction of the group is under way (rule 11).
func (l *PointerLog) groupOffset(ctx context.Context) (int64, string, bool, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = l.config.Group
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.TopicID, topic.Partitions = l.config.Topic, l.id, []int32{l.config.Partition}
	group.Topics = append(group.Topics, topic)
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return 0, "", false, err
	}
	for _, g := range resp.Groups {
		err := kerr.ErrorForCode(g.ErrorCode)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return 0, "", false, nil
		}
		if err != nil {
			return 0, "", false, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return 0, "", false, err
				}
				if p.Offset >= 0 {
					metadata := ""
					if p.Metadata != nil {
						metadata = *p.Metadata
					}
					return p.Offset, metadata, true, nil
				}
			}
		}
	}
	return 0, "", false, nil
}

// wrap says which partition an error is about.
func (l *PointerLog) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("checkpoint topic %s partition %d: %w", l.config.Topic, l.config.Partition, err)
}

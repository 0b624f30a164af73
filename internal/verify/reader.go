package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// reader reads one partition from an offset to before another, one fetch at a time. Record batches are decoded by
// franz-go and not by package source.
type reader struct {
	client    *kgo.Client
	cluster   *kafka.Cluster
	topic     string
	partition int32
	// committed says whether records of open and aborted transactions are left out.
	committed bool
	// size is how many bytes one fetch asks for.
	size int32
	// next is the offset to fetch, to where reading ends.
	next, to int64
	// records are what was fetched and not taken yet.
	records []*kgo.Record

	leader *kgo.Broker
	id     [16]byte
}

const (
	fetchTimeout  = 30 * time.Second
	fetchPatience = 2 * time.Minute
)

// take returns the next record, nil at the end. It is the caller's.
func (r *reader) take(ctx context.Context, rec *stream.Record) (ok bool, err error) {
	for len(r.records) == 0 {
		if r.next >= r.to {
			return false, nil
		}
		if err := r.fetch(ctx); err != nil {
			return false, fmt.Errorf("topic %s partition %d: reading at offset %d: %w", r.topic, r.partition, r.next, err)
		}
	}
	k := r.records[0]
	r.records = r.records[1:]
	*rec = stream.Record{
		Key: k.Key, Value: k.Value, Timestamp: k.Timestamp.UnixMilli(), Topic: r.topic, Partition: r.partition, Offset: k.Offset,
	}
	for _, h := range k.Headers {
		rec.Headers = append(rec.Headers, stream.Header{Key: h.Key, Value: h.Value})
	}
	return true, nil
}

// left is how many offsets are not taken yet.
func (r *reader) left() int64 {
	if len(r.records) > 0 {
		return r.to - r.records[0].Offset
	}
	return max(0, r.to-r.next)
}

// fetch asks for records until there are some or the end is reached.
func (r *reader) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	var backoff kafka.Backoff
	for r.next < r.to && len(r.records) == 0 {
		answer, err := r.ask(ctx)
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange):
			return &source.DataLossError{Kind: source.LossExpired, Topic: r.topic, Partition: r.partition, Offset: r.next, LogStart: answer.LogStartOffset}
		case err != nil:
			r.leader = nil
			if !kafka.IsRetriable(err) || !backoff.Wait(ctx) {
				return err
			}
			continue
		}
		isolation := kgo.ReadUncommitted()
		if r.committed {
			isolation = kgo.ReadCommitted()
		}
		got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
			Offset: r.next, IsolationLevel: isolation, Topic: r.topic, Partition: r.partition,
		}, answer, kgo.DefaultDecompressor(), nil)
		if got.Err != nil {
			return got.Err
		}
		if next <= r.next && len(got.Records) == 0 {
			if !backoff.Wait(ctx) {
				return fmt.Errorf("nothing comes, and the end is offset %d: %w", r.to, ctx.Err())
			}
			continue
		}
		for _, k := range got.Records {
			if k.Offset < r.to {
				r.records = append(r.records, k)
			}
		}
		r.next = min(next, r.to) // a later phase may go on from there
	}
	return nil
}

func (r *reader) ask(ctx context.Context) (*kmsg.FetchResponseTopicPartition, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if r.leader == nil {
		t, err := r.cluster.Topic(ctx, r.topic)
		if err != nil {
			return nil, err
		}
		if int(r.partition) >= len(t.Partitions) || t.Partitions[r.partition].Leader < 0 {
			return nil, kerr.LeaderNotAvailable
		}
		r.leader, r.id = r.client.Broker(int(t.Partitions[r.partition].Leader)), t.ID
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 100, 1, r.size
	req.SessionEpoch = -1
	if r.committed {
		req.IsolationLevel = 1
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = r.topic, r.id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = r.partition, r.next, r.size
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	answer, err := r.leader.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errors.New("the broker did not answer for the partition")
	}
	return &resp.Topics[0].Partitions[0], nil
}

// fetchSize divides what fetches may hold in memory among partitions.
func fetchSize(partitions int) int32 {
	return int32(min(1<<20, max(64<<10, (64<<20)/max(1, partitions))))
}

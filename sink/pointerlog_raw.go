package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// trace is what the checkpoint partition holds of one transaction.
type trace struct {
	// pointer says that a pointer of the transaction is there, marked that a marker of its producer follows, and commit which.
	pointer, marked, commit bool
	// checkpoint is the pointer's.
	checkpoint int64
	// complete says that nothing of the transaction can have been deleted: an older record is still there.
	complete bool
}

// ofProducer looks for the pointer that a producer wrote in an epoch, committed or not, and for the marker that follows it.
// With transaction.version 2 an epoch is that of one transaction.
func (l *PointerLog) ofProducer(ctx context.Context, producer int64, epoch int16) (trace, error) {
	var found trace
	from, err := l.offset(ctx, earliest, everything)
	if err != nil {
		return found, l.wrap(err)
	}
	to, err := l.offset(ctx, latest, everything)
	if err != nil {
		return found, l.wrap(err)
	}
	found.complete = from == 0
	var backoff kafka.Backoff
	for from < to {
		records, next, err := l.fetchRaw(ctx, from)
		if err != nil {
			return found, l.wrap(err)
		}
		if next <= from {
			if !l.again(ctx, &backoff) {
				return found, l.wrap(fmt.Errorf("reading from offset %d on: %w", from, ctx.Err()))
			}
			continue
		}
		for _, r := range records {
			switch {
			case r.ProducerID != producer:
			case !r.Attrs.IsControl() && r.ProducerEpoch == epoch:
				found.pointer = true
				if found.checkpoint, err = strconv.ParseInt(string(r.Key), 10, 64); err != nil {
					return found, l.wrap(fmt.Errorf("the key at offset %d is not a checkpoint ID: %w", r.Offset, err))
				}
			case !r.Attrs.IsControl() && r.ProducerEpoch < epoch:
				found.complete = true
			case r.Attrs.IsControl() && found.pointer && !found.marked && len(r.Key) >= 4:
				found.marked, found.commit = true, r.Key[3] == 1 // version, then 0 for abort and 1 for commit
			}
		}
		from = next
	}
	return found, nil
}

// fetchRaw reads everything from an offset on, markers and what is not decided too.
func (l *PointerLog) fetchRaw(ctx context.Context, offset int64) (records []*kgo.Record, next int64, err error) {
	var answer *kmsg.FetchResponseTopicPartition
	err = l.withLeader(ctx, func(ctx context.Context, leader *kgo.Broker, id [16]byte) error {
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 100, 1, 1<<20, -1
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.TopicID = l.config.Topic, id
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = l.config.Partition, offset, 1<<20
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		r, err := leader.Request(ctx, req)
		if err != nil {
			return err
		}
		resp := r.(*kmsg.FetchResponse)
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the broker did not answer for the partition")
		}
		answer = &resp.Topics[0].Partitions[0]
		return kerr.ErrorForCode(answer.ErrorCode)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading at offset %d: %w", offset, err)
	}
	fetched, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: offset, Topic: l.config.Topic, Partition: l.config.Partition,
	}, answer, kgo.DefaultDecompressor(), nil)
	return fetched.Records, next, fetched.Err
}

package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// LoggedPointer is a committed record of the checkpoint topic.
type LoggedPointer struct {
	Offset     int64
	Key, Value []byte
}

// Last returns the last committed pointer, nil if there is none. It takes the end of the partition, waits until the last
// stable offset has reached it, so that nothing that may still be committed lies below, and reads backwards from there: its
// time does not grow with the age of the job. An open transaction that does not end within the timeout is an
// [*OpenTransactionError]; a pointer below it is never taken for the last.
func (l *PointerLog) Last(ctx context.Context) (*LoggedPointer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	l.known.Store(nil) // the fencing lies between: who led before it may not know that another leads now
	end, err := l.waitStable(ctx)
	if err != nil {
		return nil, l.wrap(err)
	}
	pointers, err := l.backwards(ctx, end, 1)
	if err != nil || len(pointers) == 0 {
		return nil, l.wrap(err)
	}
	return &pointers[0], nil
}

// List returns up to max committed pointers, newest first. It does not wait for open transactions.
func (l *PointerLog) List(ctx context.Context, max int) ([]LoggedPointer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	end, err := l.offset(ctx, latest, committedOnly)
	if err != nil {
		return nil, l.wrap(err)
	}
	pointers, err := l.backwards(ctx, end, max)
	return pointers, l.wrap(err)
}

// ErrNoRecord marks an offset of the checkpoint partition at which there is no committed record, or none any more.
var ErrNoRecord = errors.New("there is no committed record")

// At returns the committed record at an offset, or [ErrNoRecord]. A node that has not got as far as the offset, since it lags
// behind or does not know that it leads no more, has not said that there is none: it is asked again, and another one that
// leads, until the timeout.
func (l *PointerLog) At(ctx context.Context, offset int64) (*LoggedPointer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	var backoff kafka.Backoff
	for {
		pointers, next, err := l.fetch(ctx, offset, 1)
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange):
			if l.startsAfter(ctx, offset) {
				return nil, l.wrap(fmt.Errorf("%w at offset %d: it was deleted", ErrNoRecord, offset))
			}
		case err != nil:
			return nil, l.wrap(err)
		case len(pointers) > 0 && pointers[0].Offset == offset:
			return &pointers[0], nil
		case next > offset:
			return nil, l.wrap(fmt.Errorf("%w at offset %d", ErrNoRecord, offset))
		default:
			err = fmt.Errorf("reading at offset %d: the broker has nothing there yet", offset)
		}
		if !l.again(ctx, &backoff) {
			return nil, l.wrap(err)
		}
	}
}

// again waits before a node is asked again that did not have what others may have, and lets it be asked anew which one leads.
func (l *PointerLog) again(ctx context.Context, backoff *kafka.Backoff) bool {
	l.known.Store(nil)
	return backoff.Wait(ctx)
}

// Since returns the committed records from one offset to before another, which the caller has written and which is
// acknowledged. It reads up to there whatever it takes: only a node that leads has that offset, so nothing is missed that
// another process has committed before it.
func (l *PointerLog) Since(ctx context.Context, from, to int64) ([]LoggedPointer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	found, err := l.read(ctx, from, to)
	return found, l.wrap(err)
}

// startsAfter reports that the records up to an offset were deleted.
func (l *PointerLog) startsAfter(ctx context.Context, offset int64) bool {
	start, err := l.offset(ctx, earliest, everything)
	return err == nil && start > offset
}

// backwards returns the last max committed records below end, newest first. It reads a piece at the end, and pieces before
// it, each four times as long, while there are not enough: what was aborted, and what ends transactions, stands between. Where
// the partition begins is asked for only if the first piece is not enough.
func (l *PointerLog) backwards(ctx context.Context, end int64, max int) ([]LoggedPointer, error) {
	var newest []LoggedPointer
	start, known := int64(0), false
	for piece := int64(2*max + 2); end > start && len(newest) < max; piece *= 4 {
		from := end - min(piece, end-start)
		part, err := l.read(ctx, from, end)
		if err != nil {
			return nil, err
		}
		slices.Reverse(part)
		newest = append(newest, part...)
		end = from
		if !known && end > 0 && len(newest) < max {
			if start, err = l.offset(ctx, earliest, everything); err != nil {
				return nil, err
			}
			known = true
		}
	}
	return newest[:min(max, len(newest))], nil
}

// read returns the committed records from one offset to before another, or what is left of them: a process that has been
// replaced may still be deleting what its last commit did not list any more, which nobody looks for.
func (l *PointerLog) read(ctx context.Context, from, to int64) ([]LoggedPointer, error) {
	var out []LoggedPointer
	var backoff kafka.Backoff
	for from < to {
		part, next, err := l.fetch(ctx, from, 1<<20)
		if errors.Is(err, kerr.OffsetOutOfRange) {
			start, startErr := l.offset(ctx, earliest, everything)
			if startErr == nil && start > from {
				from = start
				continue
			}
			next, err = from, nil // the node has not got that far: see At
		}
		if err != nil {
			return nil, err
		}
		if next <= from {
			if !l.again(ctx, &backoff) {
				return nil, fmt.Errorf("reading from offset %d on: %w", from, ctx.Err())
			}
			continue
		}
		for _, p := range part {
			if p.Offset < to {
				out = append(out, p)
			}
		}
		from = next
	}
	return out, nil
}

// fetch reads committed records from an offset on: about size bytes, but a whole batch at least. next is where to go on.
func (l *PointerLog) fetch(ctx context.Context, offset int64, size int32) (records []LoggedPointer, next int64, err error) {
	var answer *kmsg.FetchResponseTopicPartition
	err = l.withLeader(ctx, func(ctx context.Context, leader *kgo.Broker, id [16]byte) error {
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 100, 1, size
		req.IsolationLevel, req.SessionEpoch = 1, -1
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.TopicID = l.config.Topic, id
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = l.config.Partition, offset, size
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
		Offset: offset, IsolationLevel: kgo.ReadCommitted(), Topic: l.config.Topic, Partition: l.config.Partition,
	}, answer, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil {
		return nil, 0, fmt.Errorf("reading at offset %d: %w", offset, fetched.Err)
	}
	for _, r := range fetched.Records {
		records = append(records, LoggedPointer{r.Offset, r.Key, r.Value})
	}
	return records, next, nil
}

// withLeader calls fn with the partition's leader, again with another while the answer is that it may work later. Who leads is
// asked for once, and again after any error: a node that leads no more says so, unless it does not know it, and then those that
// tell who leads may not know it either (docs/decisions/0012).
func (l *PointerLog) withLeader(ctx context.Context, fn func(context.Context, *kgo.Broker, [16]byte) error) error {
	var backoff kafka.Backoff
	for {
		var err error
		topic := l.known.Load()
		remembered := topic != nil
		if !remembered {
			var found kafka.Topic
			if found, err = l.cluster.Topic(ctx, l.config.Topic); err == nil {
				topic = &found
			}
		}
		if err == nil {
			leader := leaderOf(*topic, l.config.Partition)
			if leader < 0 {
				err = kerr.LeaderNotAvailable
			} else if err = fn(ctx, l.client.Broker(int(leader)), topic.ID); err == nil && !remembered {
				l.known.Store(topic)
			}
		}
		if err != nil {
			l.known.Store(nil)
		}
		switch {
		case err == nil:
			return nil
		case remembered && ctx.Err() == nil:
			continue // what was remembered may be what is wrong
		case !kafka.IsRetriable(err) || errors.Is(err, kafka.ErrNoTopic) || !backoff.Wait(ctx):
			return err
		}
	}
}

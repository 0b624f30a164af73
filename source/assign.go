package source

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// assign gives a split to the broker that leads it, after making sure that the log there is still the one that was read
// (KIP-320). An error ends the reader.
func (r *kafkaReader) assign(ctx context.Context, l lookup, s *split, partitions map[int32]partitionMeta) error {
	p, ok := partitions[s.Partition]
	if !ok || p.leader < 0 {
		return r.retryLater([]*split{s}, kerr.LeaderNotAvailable)
	}
	r.mu.Lock()
	since, failure := s.failedSince, s.failure
	moved := s.leaderEpoch >= 0 && p.epoch > s.leaderEpoch
	position, epoch, outOfRange := s.position, s.epoch, s.outOfRange
	r.mu.Unlock()
	if failure != nil && time.Since(since) > unreachableLimit {
		return fmt.Errorf("topic %s partition %d: not readable for %s: %w", s.Topic, s.Partition, unreachableLimit, failure)
	}
	if outOfRange {
		at, err := r.lookInto(ctx, l, s, position)
		if err != nil {
			if _, loss := err.(*DataLossError); loss {
				return err
			}
			return r.retryLater([]*split{s}, err)
		}
		position = at
	}
	if moved && epoch >= 0 {
		ends, err := l.epochEnds(ctx, map[string]map[int32]int32{s.Topic: {s.Partition: epoch}})
		if err != nil {
			return r.retryLater([]*split{s}, err)
		}
		if end, ok := ends[partitionKey{s.Topic, s.Partition}]; ok && end < position {
			return &DataLossError{Kind: LossTruncated, Topic: s.Topic, Partition: s.Partition, Offset: position, LogEnd: end}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if position != s.position {
		s.position, s.epoch = position, -1
	}
	s.leader, s.leaderEpoch, s.outOfRange = p.leader, p.epoch, false
	b := r.brokers[p.leader]
	if b == nil {
		b = &broker{id: p.leader, wake: make(chan struct{}, 1)}
		r.brokers[p.leader] = b
		r.wg.Go(func() { r.fetchLoop(ctx, b) })
	}
	wake(b.wake)
	return nil
}

// lookInto finds out why an offset is out of range, and where to go on. An offset that exists after all (a broker that
// lagged behind said otherwise) stays.
func (r *kafkaReader) lookInto(ctx context.Context, l lookup, s *split, position int64) (int64, error) {
	key := partitionKey{s.Topic, s.Partition}
	ask := map[string][]int32{s.Topic: {s.Partition}}
	starts, err := l.offsets(ctx, earliestOffset, false, ask)
	if err != nil {
		return 0, err
	}
	ends, err := l.offsets(ctx, latestOffset, false, ask)
	if err != nil {
		return 0, err
	}
	start, end := starts[key], ends[key]
	switch {
	case position > end:
		return 0, &DataLossError{Kind: LossTruncated, Topic: s.Topic, Partition: s.Partition, Offset: position, LogEnd: end}
	case position >= start:
		return position, nil
	}
	loss := &DataLossError{Kind: LossExpired, Topic: s.Topic, Partition: s.Partition, Offset: position, LogStart: start}
	if r.src.opts.OnDataLoss != "earliest" {
		return 0, loss
	}
	r.src.env.Logger.Warn("records expired before they were read", "topic", s.Topic, "partition", s.Partition,
		"offset", position, "log_start", start)
	return start, nil
}

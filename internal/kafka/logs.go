package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Log is where the log of a partition begins and ends, in offsets.
type Log struct {
	// Start is the first offset that is still there, End the one after the last: the high watermark.
	Start, End int64
	// Stable is the first offset that is not decided, where a read_committed reader stops: that of an open transaction, else End.
	Stable int64
	// At is the first offset whose record is not before the time that was asked for, End if there is none; 0 if none was asked for.
	At int64
}

// logsTimeout bounds what [Cluster.Logs] asks, unless the caller's deadline is earlier.
const logsTimeout = time.Minute

// Logs finds out where the logs of topics are, of all their partitions. Places are asked for in the order start, stable, end:
// what is written meanwhile makes no end lie before a stable offset. A topic that does not exist, and a partition that nobody
// answers for, is a [*TopicError].
func (c *Cluster) Logs(ctx context.Context, topics ...string) (map[string]map[int32]Log, error) {
	return c.LogsAt(ctx, time.Time{}, topics...)
}

// LogsAt is Logs with At, for a time that is not zero.
func (c *Cluster) LogsAt(ctx context.Context, at time.Time, topics ...string) (map[string]map[int32]Log, error) {
	out := make(map[string]map[int32]Log, len(topics))
	if len(topics) == 0 {
		return out, nil // kadm would take it for all topics
	}
	ctx, cancel := WithDeadline(ctx, logsTimeout)
	defer cancel()
	admin := kadm.NewClient(c.cl)
	type place struct {
		ask func(context.Context, ...string) (kadm.ListedOffsets, error)
		to  func(*Log) *int64
	}
	places := []place{
		{admin.ListStartOffsets, func(l *Log) *int64 { return &l.Start }},
		{admin.ListCommittedOffsets, func(l *Log) *int64 { return &l.Stable }},
		{admin.ListEndOffsets, func(l *Log) *int64 { return &l.End }},
	}
	if !at.IsZero() {
		after := func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)
		}
		places = append(places, place{after, func(l *Log) *int64 { return &l.At }})
	}
	for _, p := range places {
		listed, err := p.ask(ctx, topics...)
		if err != nil {
			return nil, fmt.Errorf("topic %s: asking for offsets: %w", strings.Join(topics, ", "), err)
		}
		for topic, partitions := range listed {
			if out[topic] == nil {
				out[topic] = make(map[int32]Log, len(partitions))
			}
			for i, listed := range partitions {
				switch whole := i < 0; { // as kadm has an error that is of no partition
				case whole && errors.Is(listed.Err, kerr.UnknownTopicOrPartition):
					return nil, &TopicError{topic, ErrNoTopic}
				case whole:
					return nil, &TopicError{topic, listed.Err}
				case listed.Err != nil:
					return nil, &TopicError{topic, fmt.Errorf("partition %d: %w", i, listed.Err)}
				}
				l := out[topic][i]
				*p.to(&l) = listed.Offset
				out[topic][i] = l
			}
		}
	}
	return out, nil
}

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
)

// feed writes numbers at a steady rate until its context ends, then one more record of each key, and returns what a plain
// loop over them gives: the sums of each key in order. The last round tells when all of the input has been read, also if
// something before it is lost.
func feed(ctx context.Context, brokers []string, topic string, n harness.Numbers, perSecond int) (harness.Sums, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ProducerLinger(5*time.Millisecond),
		// The topic is new.
		kgo.UnknownTopicRetries(-1))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	const bursts = 20
	tick := time.NewTicker(time.Second / bursts)
	defer tick.Stop()
	var records []*kgo.Record
	failed := make(chan error, 1)
	send := func(r *kgo.Record) {
		records = append(records, r)
		cl.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	for ctx.Err() == nil {
		for range perSecond / bursts {
			send(n.Record(topic, int64(len(records))))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	seen := map[string]bool{}
	for _, r := range slices.Clone(records) {
		if key := string(r.Key); !seen[key] {
			seen[key] = true
			send(&kgo.Record{Topic: topic, Key: r.Key, Value: fmt.Appendf(nil, `{"key":"%s","n":1,"i":%d}`, key, len(records))})
		}
	}
	if err := cl.Flush(context.Background()); err != nil {
		return nil, err
	}
	select {
	case err := <-failed:
		return nil, err
	default:
		return harness.RunningSums(byPartition(records))
	}
}

func byPartition(records []*kgo.Record) map[int32][]*kgo.Record {
	m := map[int32][]*kgo.Record{}
	for _, r := range records {
		m[r.Partition] = append(m[r.Partition], r)
	}
	return m
}

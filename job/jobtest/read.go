package jobtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/stream"
)

// Read returns all that a read_committed reader sees of a topic now.
func (c *Cluster) Read(topic string) Records {
	c.t.Helper()
	c.need(topic)
	ctx, cancel := c.bounded()
	defer cancel()
	ends, err := c.ends(ctx, topic)
	if err == nil {
		var out Records
		if out, err = c.read(ctx, ends[topic]); err == nil {
			return out
		}
	}
	c.t.Fatalf("topic %s: %v", topic, err)
	return nil
}

// WaitForRecords waits until a read_committed reader sees n records of a topic, or more, and returns all that it sees. It
// ends the test when that cannot come, since nothing runs any more.
func (c *Cluster) WaitForRecords(topic string, n int) Records {
	c.t.Helper()
	c.need(topic)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	var seen Records
	for end := int64(0); ; {
		over := !slices.ContainsFunc(c.runs, func(r *Run) bool { return !r.over() })
		// The end counts the ends of transactions too, aborted ones among them, so it only tells when it is worth reading.
		if now := c.end(topic); now != end {
			end = now
			before := len(seen)
			if now >= int64(n) {
				seen = c.Read(topic)
			}
			if now < int64(n) || len(seen) > before {
				timeout.Reset(patience)
			}
		}
		switch {
		case len(seen) >= n:
			return seen
		case over:
			seen = c.Read(topic)
			c.t.Fatalf("%d records of topic %s, want %d, and nothing runs%s", len(seen), topic, n, c.states())
		}
		select {
		case <-tick.C:
		case <-timeout.C:
			seen = c.Read(topic)
			c.t.Fatalf("nothing has come to topic %s for %s: there are %d records of %d%s", topic, patience, len(seen), n, c.states())
		}
	}
}

// end is the sum of what a read_committed reader can read of each partition of a topic.
func (c *Cluster) end(topic string) (n int64) {
	c.t.Helper()
	ctx, cancel := c.bounded()
	defer cancel()
	ends, err := c.ends(ctx, topic)
	if err != nil {
		c.t.Fatalf("topic %s: %v", topic, err)
	}
	for _, o := range ends[topic] {
		n += o.Offset
	}
	return n
}

// states says how the runs are, for a test that has waited in vain.
func (c *Cluster) states() (s string) {
	for _, r := range c.runs {
		s += fmt.Sprintf("\njob %s: %s", r.name, r.state())
	}
	return s
}

// ends are the ends of what a read_committed reader can read.
func (c *Cluster) ends(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	ends, err := c.admin.ListCommittedOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	return ends, err
}

// written is behind the last record of each partition. The end of a topic is not the same if transactions were written to it.
func (c *Cluster) written(ctx context.Context, topics []string) (map[string]map[int32]int64, error) {
	ends, err := c.ends(ctx, topics...)
	if err != nil {
		return nil, err
	}
	out := map[string]map[int32]int64{}
	for _, topic := range topics {
		out[topic] = map[int32]int64{}
		own := true
		for p, e := range ends[topic] {
			out[topic][p] = e.Offset
			own = own && e.Offset == c.topics[topic][p]
		}
		if own {
			continue
		}
		records, err := c.read(ctx, ends[topic])
		if err != nil {
			return nil, err
		}
		out[topic] = map[int32]int64{}
		for _, r := range records {
			out[topic][r.Partition] = max(out[topic][r.Partition], r.Offset+1)
		}
	}
	return out, nil
}

// read reads a topic up to the given ends.
func (c *Cluster) read(ctx context.Context, ends map[int32]kadm.ListedOffset) (out Records, err error) {
	from := map[string]map[int32]kgo.Offset{}
	left := map[int32]int64{}
	for p, o := range ends {
		if o.Offset > 0 {
			left[p] = o.Offset
			from[o.Topic] = map[int32]kgo.Offset{}
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	for p := range left {
		from[ends[p].Topic][p] = kgo.NewOffset().AtStart()
	}
	// Without sessions, since Close looks at one while a fetch may be writing to it: a data race in kgo (v1.22.3).
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers()...), kgo.ConsumePartitions(from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions(), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for len(left) > 0 {
		fetched := cl.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return nil, err
		}
		fetched.EachRecord(func(r *kgo.Record) {
			end, reading := left[r.Partition]
			if !reading {
				return
			}
			if !r.Attrs.IsControl() && r.Offset < end {
				out = append(out, record(r))
			}
			if r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
	return out, nil
}

func record(r *kgo.Record) stream.Record {
	out := stream.Record{
		Key: r.Key, Value: r.Value, Timestamp: r.Timestamp.UnixMilli(), Topic: r.Topic, Partition: r.Partition, Offset: r.Offset,
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, stream.Header{Key: h.Key, Value: h.Value})
	}
	return out
}

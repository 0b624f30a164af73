package jobtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/stream"
)

// patience is how long a test waits for anything, from the last progress where there is some to see. With the race detector
// Pebble is ten times slower and more.
const patience = time.Minute

// Cluster is a Kafka in memory, and a directory for the state of the jobs that run on it. Its methods are called from the
// test's goroutine; they end the test if something fails.
type Cluster struct {
	t      testing.TB
	fake   *kfake.Cluster
	client *kgo.Client
	admin  *kadm.Client
	dir    string
	topics map[string]map[int32]int64 // that are known to exist, and where the test's own records in them end
	runs   []*Run
}

// New starts a cluster. It ends, with all that runs on it, when the test does.
func New(t testing.TB) *Cluster {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DefaultNumPartitions(1))
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, fake: fake, dir: t.TempDir(), topics: map[string]map[int32]int64{}}
	t.Cleanup(fake.Close)
	c.connect()
	t.Cleanup(func() {
		for _, r := range c.runs {
			r.Kill()
		}
	})
	return c
}

// connect makes the client that the test's own records go through.
func (c *Cluster) connect() {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers()...), kgo.RecordPartitioner(partitioner()))
	if err != nil {
		c.t.Fatal(err)
	}
	c.client, c.admin = client, kadm.NewClient(client)
	c.t.Cleanup(client.Close)
}

// partitioner sends a record that has a partition there, and others where Kafka's own clients send a record of that key.
func partitioner() kgo.Partitioner {
	return kgo.BasicConsistentPartitioner(func(topic string) func(*kgo.Record, int) int {
		byKey := kgo.StickyKeyPartitioner(nil).ForTopic(topic)
		return func(r *kgo.Record, n int) int {
			if r.Partition >= 0 {
				return int(r.Partition)
			}
			return byKey.Partition(r, n)
		}
	})
}

// Brokers are the addresses of the cluster, for clients of the test's own.
func (c *Cluster) Brokers() []string { return c.fake.ListenAddrs() }

// Topic makes a topic. Topics that are written, read or in a job's graph and were not made have one partition.
func (c *Cluster) Topic(name string, partitions int) {
	c.t.Helper()
	ctx, cancel := c.bounded()
	defer cancel()
	if _, err := c.admin.CreateTopic(ctx, int32(partitions), 1, nil, name); err != nil {
		c.t.Fatalf("topic %s: %v", name, err)
	}
	c.topics[name] = map[int32]int64{}
}

// AddPartitions gives a topic more partitions, so that it has as many as that. A job that runs finds them at its next look for
// new ones (discovery_interval), one that starts at once.
func (c *Cluster) AddPartitions(name string, partitions int) {
	c.t.Helper()
	c.need(name)
	ctx, cancel := c.bounded()
	defer cancel()
	made, err := c.admin.UpdatePartitions(ctx, partitions, name)
	if err := errors.Join(err, made.Error()); err != nil {
		c.t.Fatalf("topic %s: %v", name, err)
	}
	c.connect() // anew: the client knows how many there were
}

// need makes a topic unless it is there.
func (c *Cluster) need(name string) {
	c.t.Helper()
	if c.topics[name] != nil {
		return
	}
	ctx, cancel := c.bounded()
	defer cancel()
	if _, err := c.admin.CreateTopic(ctx, 1, 1, nil, name); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		c.t.Fatalf("topic %s: %v", name, err)
	}
	c.topics[name] = map[int32]int64{}
}

// Produce writes records, each to the partition of its key's hash (one without a key to any), in order. A record without a
// timestamp gets the time of now. It returns when they are written.
func (c *Cluster) Produce(topic string, records ...stream.Record) {
	c.t.Helper()
	c.ProduceTo(topic, -1, records...)
}

// ProduceTo writes records to one partition.
func (c *Cluster) ProduceTo(topic string, partition int, records ...stream.Record) {
	c.t.Helper()
	c.need(topic)
	out := make([]*kgo.Record, len(records))
	for i, r := range records {
		out[i] = &kgo.Record{Topic: topic, Partition: int32(partition), Key: r.Key, Value: r.Value}
		if r.Timestamp != 0 {
			out[i].Timestamp = time.UnixMilli(r.Timestamp)
		}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	ctx, cancel := c.bounded()
	defer cancel()
	if err := c.client.ProduceSync(ctx, out...).FirstErr(); err != nil {
		c.t.Fatalf("topic %s: %v", topic, err)
	}
	for _, r := range out {
		c.topics[topic][r.Partition] = r.Offset + 1
	}
}

// bounded is the context of a call to the broker.
func (c *Cluster) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

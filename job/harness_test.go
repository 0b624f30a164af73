package job_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// cluster is a Kafka in memory, with helpers that fail the test.
type cluster struct {
	t      *testing.T
	fake   *kfake.Cluster
	addrs  []string
	client *kgo.Client
	opts   []kgo.Opt
}

func (c *cluster) connect(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append(append([]kgo.Opt{kgo.SeedBrokers(c.addrs...)}, c.opts...), opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

func newCluster(t *testing.T, topics ...string) *cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	k := &cluster{t: t, fake: c, addrs: c.ListenAddrs()}
	k.client = k.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return k
}

// feed writes n records with keys k0..k<keys-1>; value i is the i-th record of its key.
func (c *cluster) feed(topic string, from, n, keys int) {
	c.t.Helper()
	var records []*kgo.Record
	for i := from; i < from+n; i++ {
		key := i % keys
		records = append(records, &kgo.Record{
			Topic: topic, Partition: int32(key % 4), Key: fmt.Appendf(nil, "k%d", key), Value: strconv.AppendInt(nil, int64(i), 10),
			Timestamp: time.UnixMilli(int64(1_700_000_000_000 + i)),
		})
	}
	if err := c.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// read returns what a read_committed reader sees of a topic, per key and in order.
func (c *cluster) read(topic string) map[string][]string {
	c.t.Helper()
	out := map[string][]string{}
	for _, r := range c.records(topic) {
		out[string(r.Key)] = append(out[string(r.Key)], string(r.Value))
	}
	return out
}

// records returns the records that a read_committed reader sees, in order within a partition.
func (c *cluster) records(topic string) (out []*kgo.Record) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	adm := kadm.NewClient(c.client)
	ends, err := adm.ListCommittedOffsets(ctx, topic)
	if err != nil {
		c.t.Fatal(err)
	}
	offsets := map[string]map[int32]kgo.Offset{topic: {}}
	todo := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		offsets[topic][o.Partition] = kgo.NewOffset().AtStart()
		if o.Offset > 0 {
			todo[o.Partition] = o.Offset
		}
	})
	// Without sessions, since Close looks at one while a fetch may be writing to it: a data race in kgo (v1.22.3).
	cl := c.connect(kgo.ConsumePartitions(offsets), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions(), kgo.KeepControlRecords())
	defer cl.Close()
	for len(todo) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			c.t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
			if r.Offset+1 >= todo[r.Partition] {
				delete(todo, r.Partition)
			}
		})
	}
	return out
}

func (c *cluster) options(interval time.Duration) job.Options {
	dir := c.t.TempDir()
	return job.Options{
		Kafka: job.Kafka{Brokers: c.addrs},
		Checkpoint: checkpoint.Options{
			Interval: interval, LocalDir: dir + "/local", Storage: dir + "/state",
		},
	}
}

// sums is a job that keeps a running sum and count per key.
func sums(parallelism int) *job.Graph { return sumsTo(parallelism, "out") }

func sumsTo(parallelism int, out string) *job.Graph {
	g := job.New("sums")
	in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), func(r *stream.Record) (keyed, error) {
		n, err := strconv.ParseInt(string(r.Value), 10, 64)
		return keyed{string(r.Key), n}, err
	})
	byKey := job.KeyBy(in, "by-key", func(k keyed) string { return k.Key })
	sum := job.Via(byKey, "sum", operators.Reduce(func(a, b keyed) keyed { return keyed{b.Key, a.N + b.N} }), job.Parallelism(parallelism))
	job.To(sum, "out", sink.Kafka(sink.KafkaOptions{Topic: out}), func(k keyed, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, k.N, 10)
		return nil
	}, job.Parallelism(parallelism))
	return g
}

type keyed struct {
	Key string
	N   int64
}

// wantSums is the plain loop: the running sums of what feed wrote.
func wantSums(n, keys int) map[string][]string {
	out := map[string][]string{}
	sum := make([]int64, keys)
	for i := range n {
		k := i % keys
		sum[k] += int64(i)
		key := fmt.Sprintf("k%d", k)
		out[key] = append(out[key], strconv.FormatInt(sum[k], 10))
	}
	return out
}

func diff(got, want map[string][]string) error {
	for k, w := range want {
		g := got[k]
		for i := range max(len(g), len(w)) {
			switch {
			case i >= len(g):
				return fmt.Errorf("key %s: %d results, want %d", k, len(g), len(w))
			case i >= len(w):
				return fmt.Errorf("key %s: %d results, want %d", k, len(g), len(w))
			case g[i] != w[i]:
				return fmt.Errorf("key %s: result %d is %s, want %s", k, i, g[i], w[i])
			}
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d keys, want %d", len(got), len(want))
	}
	return nil
}

var errCrash = errors.New("crash")

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited 30s for %s", what)
		}
	}
}

func (c *cluster) create(topic string) {
	c.t.Helper()
	if _, err := kadm.NewClient(c.client).CreateTopic(context.Background(), 4, 1, nil, topic); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) produce(topic string, partition int32, key, value string) {
	c.t.Helper()
	r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: []byte(value)}
	if err := c.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(30 * time.Second):
		r.t.Fatal("the job did not end")
		return nil
	}
}

package verify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a Kafka in memory, with helpers that fail the test.
type cluster struct {
	t      *testing.T
	fake   *kfake.Cluster
	client *kgo.Client
}

func newCluster(t *testing.T, topics ...string) *cluster {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := &cluster{t: t, fake: fake}
	c.client = c.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return c
}

func (c *cluster) connect(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.fake.ListenAddrs()...))...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

func (c *cluster) produce(records ...*kgo.Record) {
	c.t.Helper()
	if err := c.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// record is a record of a key that has the number n as its value, of event time n.
func record(topic string, partition int32, key string, n int) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: partition, Value: strconv.AppendInt(nil, int64(n), 10), Timestamp: time.UnixMilli(int64(n))}
	if key != "" {
		r.Key = []byte(key)
	}
	return r
}

// feed writes the numbers from to to of the keys k0 to k<keys-1>, each key into one partition.
func (c *cluster) feed(from, to, keys int) {
	c.t.Helper()
	var records []*kgo.Record
	for n := from; n < to; n++ {
		records = append(records, record("in", int32(n%keys%4), fmt.Sprintf("k%d", n%keys), n))
	}
	c.produce(records...)
}

// read returns what a read_committed reader sees of a topic.
func (c *cluster) read(topic string) (out []*kgo.Record) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(c.client).ListCommittedOffsets(ctx, topic)
	if err != nil {
		c.t.Fatal(err)
	}
	offsets, todo := map[int32]kgo.Offset{}, map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		offsets[o.Partition] = kgo.NewOffset().AtStart()
		if o.Offset > 0 {
			todo[o.Partition] = o.Offset
		}
	})
	cl := c.connect(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions(), kgo.KeepControlRecords())
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

// rewrite makes another topic with the records of one as change leaves them, and what else it is given.
func (c *cluster) rewrite(from, to string, change func(r *kgo.Record) []*kgo.Record) {
	c.t.Helper()
	if _, err := kadm.NewClient(c.client).CreateTopic(context.Background(), 4, 1, nil, to); err != nil {
		c.t.Fatal(err)
	}
	var out []*kgo.Record
	for _, r := range c.read(from) {
		for _, r := range change(r) {
			out = append(out, &kgo.Record{Topic: to, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp})
		}
	}
	c.produce(out...)
}

func (c *cluster) options() job.Options {
	dir := c.t.TempDir()
	return job.Options{
		Kafka:       job.Kafka{Brokers: c.fake.ListenAddrs()},
		Parallelism: 2,
		Checkpoint:  checkpoint.Options{Interval: 5 * time.Millisecond, LocalDir: dir + "/local", Storage: dir + "/state"},
	}
}

// running is a job that runs.
type running struct {
	*runtime.Job
	c    *cluster
	kill context.CancelCauseFunc
	done chan error
}

func (c *cluster) start(g *job.Graph, o job.Options) *running {
	c.t.Helper()
	j, err := g.Prepare(o)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, kill := context.WithCancelCause(context.Background())
	r := &running{Job: j, c: c, kill: kill, done: make(chan error, 1)}
	go func() { r.done <- j.Run(ctx) }()
	c.t.Cleanup(func() { kill(nil) })
	return r
}

var errCrash = errors.New("crash")

func (r *running) crash() {
	r.kill(errCrash)
	<-r.done
}

func (r *running) stop() {
	r.c.t.Helper()
	r.Stop()
	if err := <-r.done; err != nil {
		r.c.t.Fatal(err)
	}
}

// await waits until a topic has at least n records.
func (r *running) await(topic string, n int) {
	r.c.t.Helper()
	eventually(r.c.t, fmt.Sprintf("%d records in %s", n, topic), func() bool {
		select {
		case err := <-r.done:
			r.c.t.Fatalf("the job ended: %v", err)
		default:
		}
		return len(r.c.read(topic)) >= n
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// run runs a job whose input ends.
func (c *cluster) run(g *job.Graph, o job.Options) {
	c.t.Helper()
	if err := g.Run(context.Background(), o); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) verify(g *job.Graph, o job.Options, v job.VerifyOptions) (*job.VerifyReport, error) {
	c.t.Helper()
	v.TempDir = c.t.TempDir()
	return job.Verify(context.Background(), g, o, v)
}

// verified is a report that must be without findings.
func (c *cluster) verified(g *job.Graph, o job.Options, v job.VerifyOptions) *job.VerifyReport {
	c.t.Helper()
	r, err := c.verify(g, o, v)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		c.t.Fatalf("%v\n%v", err, r.Examples)
	}
	return r
}

func findings(r *job.VerifyReport) (out []string) {
	for _, f := range r.Examples {
		out = append(out, f.String())
	}
	slices.Sort(out)
	return out
}

type number struct {
	Key string
	N   int64
}

func decode(r *stream.Record) (number, error) {
	n, err := strconv.ParseInt(string(r.Value), 10, 64)
	return number{string(r.Key), n}, err
}

func encode(n number, r *stream.Record) error {
	r.Value = strconv.AppendInt(r.Value, n.N, 10)
	return nil
}

func in() source.Spec { return source.Kafka(source.KafkaOptions{Topics: []string{"in"}}) }

func bounded() source.Spec {
	return source.Kafka(source.KafkaOptions{Topics: []string{"in"}, StopAt: "latest"})
}

func to(topic string) sink.Spec { return sink.Kafka(sink.KafkaOptions{Topic: topic}) }

// sums is a running sum per key.
func sums(src source.Spec, out string) *job.Graph {
	g := job.New("sums")
	byKey := job.KeyBy(job.From(g, "in", src, decode), "by-key", func(n number) string { return n.Key })
	sum := job.Via(byKey, "sum", operators.Reduce(func(a, b number) number { return number{b.Key, a.N + b.N} }))
	job.To(sum, "out", to(out), encode)
	return g
}

// deleteBefore deletes the records of a partition below an offset.
func (c *cluster) deleteBefore(topic string, partition int32, offset int64) {
	c.t.Helper()
	var o kadm.Offsets
	o.AddOffset(topic, partition, offset, -1)
	answer, err := kadm.NewClient(c.client).DeleteRecords(context.Background(), o)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// last is the offset of the last record of a topic of one partition.
func (c *cluster) last(topic string) int64 {
	records := c.read(topic)
	return records[len(records)-1].Offset
}

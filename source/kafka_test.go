package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/weirstream/weir/checkpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// cluster is Kafka in memory and what tests do to it.
type cluster struct {
	t     *testing.T
	fake  *kfake.Cluster
	admin *kadm.Client
	opts  []kgo.Opt
}

func newCluster(t *testing.T, partitions int32, topics ...string) *cluster {
	fake, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(partitions, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := &cluster{t: t, fake: fake, opts: []kgo.Opt{kgo.SeedBrokers(fake.ListenAddrs()...)}}
	c.admin = kadm.NewClient(c.client())
	return c
}

func (c *cluster) client(extra ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append(slices.Clone(c.opts), extra...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// open opens a source named "views"; now may be nil.
func (c *cluster) open(o KafkaOptions, now func() int64) Source {
	c.t.Helper()
	return c.openIn(Env{Now: now, Steady: now}, o)
}

// openIn is open with more of what the source needs of its job.
func (c *cluster) openIn(env Env, o KafkaOptions) Source {
	c.t.Helper()
	if o.FetchMaxWait == 0 {
		o.FetchMaxWait = 20 * time.Millisecond
	}
	env.Name, env.Group = "views", "job"
	env.Dial = func(_ context.Context, extra ...kgo.Opt) (*kgo.Client, error) {
		return kgo.NewClient(append(slices.Clone(c.opts), extra...)...)
	}
	s, err := Kafka(o).Open(c.t.Context(), env)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.Close)
	return s
}

// produce writes values to one partition, each as one record batch, and returns the offset after them.
func (c *cluster) produce(topic string, partition int32, values ...string) int64 {
	c.t.Helper()
	var recs []*kgo.Record
	for _, v := range values {
		recs = append(recs, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
	return c.produceRecords(recs...)
}

func (c *cluster) produceRecords(recs ...*kgo.Record) int64 {
	c.t.Helper()
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	if err := cl.ProduceSync(c.t.Context(), recs...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
	return recs[len(recs)-1].Offset + 1
}

// transaction writes values in one transaction and ends it.
func (c *cluster) transaction(commit bool, topic string, partition int32, values ...string) {
	c.t.Helper()
	end := c.begin(topic, partition, values...)
	end(commit)
}

// begin writes values in a transaction and leaves it open until end is called.
func (c *cluster) begin(topic string, partition int32, values ...string) (end func(commit bool)) {
	c.t.Helper()
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID(fmt.Sprintf("%s-%d", c.t.Name(), txns.Add(1))))
	if err := cl.BeginTransaction(); err != nil {
		c.t.Fatal(err)
	}
	for _, v := range values {
		if err := cl.ProduceSync(c.t.Context(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
	}
	return func(commit bool) {
		c.t.Helper()
		if err := cl.EndTransaction(c.t.Context(), kgo.TransactionEndTry(commit)); err != nil {
			c.t.Fatal(err)
		}
		cl.Close()
	}
}

var txns atomic.Int64

// run is a reader that runs, and what it has reported.
type run struct {
	t      *testing.T
	events chan Event
	err    chan error
	stop   context.CancelFunc
	splits []checkpoint.Split
	next   map[int32]int64
}

// read starts a reader of all the splits.
func read(t *testing.T, s Source, splits []checkpoint.Split) *run {
	t.Helper()
	return readAs(t, s, 0, 1, splits)
}

func readAs(t *testing.T, s Source, subtask, parallelism int, splits []checkpoint.Split) *run {
	t.Helper()
	reader, err := s.Reader(subtask, parallelism, splits)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{t: t, events: make(chan Event), err: make(chan error, 1), stop: cancel, next: map[int32]int64{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.err <- reader.Run(ctx, r.events)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

// event returns the next event but for batches without records, whose Next it notes.
func (r *run) event() Event {
	r.t.Helper()
	for {
		select {
		case e := <-r.events:
			switch e.Kind {
			case EventSplit:
				if int(e.Index) != len(r.splits) {
					r.t.Fatalf("split %d announced as number %d", len(r.splits), e.Index)
				}
				r.splits = append(r.splits, e.Split)
				r.next[e.Index] = e.Split.Offset
			case EventBatch:
				r.check(&e.Batch)
				if len(e.Batch.Records) == 0 {
					continue
				}
			}
			return e
		case err := <-r.err:
			r.t.Fatalf("the reader ended: %v", err)
		case <-time.After(patience):
			r.t.Fatal("no event")
		}
	}
}

// check holds what must be true of every batch.
func (r *run) check(b *Batch) {
	r.t.Helper()
	if b.Next <= r.next[b.Split] {
		r.t.Fatalf("split %d: next goes from %d to %d", b.Split, r.next[b.Split], b.Next)
	}
	last := r.next[b.Split] - 1
	var size int64
	for i := range b.Records {
		rec := &b.Records[i]
		if rec.Offset <= last || rec.Offset >= b.Next {
			r.t.Fatalf("split %d: offset %d after %d in a batch up to %d", b.Split, rec.Offset, last, b.Next)
		}
		if rec.Topic != r.splits[b.Split].Topic || rec.Partition != r.splits[b.Split].Partition {
			r.t.Fatalf("split %d: record of %s/%d", b.Split, rec.Topic, rec.Partition)
		}
		last = rec.Offset
		size += int64(len(rec.Key) + len(rec.Value))
	}
	if size != b.Bytes {
		r.t.Fatalf("split %d: %d bytes, said to be %d", b.Split, size, b.Bytes)
	}
	r.next[b.Split] = b.Next
}

// values collects the values of n records, in order of arrival.
func (r *run) values(n int) []string {
	r.t.Helper()
	var out []string
	for len(out) < n {
		if e := r.event(); e.Kind == EventBatch {
			for i := range e.Batch.Records {
				out = append(out, string(e.Batch.Records[i].Value))
			}
		}
	}
	return out
}

// rest collects values up to EventEnd.
func (r *run) rest() []string {
	r.t.Helper()
	var out []string
	for {
		switch e := r.event(); e.Kind {
		case EventBatch:
			for i := range e.Batch.Records {
				out = append(out, string(e.Batch.Records[i].Value))
			}
		case EventEnd:
			if err := <-r.err; err != nil {
				r.t.Fatalf("after the end: %v", err)
			}
			return out
		}
	}
}

// until returns the first event of a kind.
func (r *run) until(k EventKind) Event {
	r.t.Helper()
	for {
		if e := r.event(); e.Kind == k {
			return e
		}
	}
}

// failure drops events until the reader ends, and returns its error.
func (r *run) failure() error {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-r.events:
		case err := <-r.err:
			return err
		case <-deadline:
			r.t.Fatal("the reader does not end")
		}
	}
}

func resolveAll(t *testing.T, s Source, restored []checkpoint.Split) []checkpoint.Split {
	t.Helper()
	splits, err := s.Resolve(t.Context(), restored)
	if err != nil {
		t.Fatal(err)
	}
	return splits
}

func wantError[E error](t *testing.T, err error, text string) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a %T", err, err, e)
	}
	if !strings.Contains(err.Error(), text) {
		t.Fatalf("got %q, want something with %q", err, text)
	}
	return e
}

func same[T comparable](t *testing.T, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// eventually polls a condition that nothing announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func offsets(topic string, partition int32, at int64) kadm.Offsets {
	var o kadm.Offsets
	o.AddOffset(topic, partition, at, -1)
	return o
}

// grow gives a topic more partitions.
func (c *cluster) grow(topic string, partitions int) {
	c.t.Helper()
	if _, err := c.admin.UpdatePartitions(c.t.Context(), partitions, topic); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) drop(topic string) {
	c.t.Helper()
	if _, err := c.admin.DeleteTopics(c.t.Context(), topic); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) recreate(topic string, partitions int32) {
	c.t.Helper()
	c.drop(topic)
	if _, err := c.admin.CreateTopic(c.t.Context(), partitions, 1, nil, topic); err != nil {
		c.t.Fatal(err)
	}
}

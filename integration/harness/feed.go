package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Numbers describes a deterministic input: records with a key out of Keys and a JSON value {"key":"k0017","n":5,"i":1234},
// where n is 1 to 100 and i counts from 0. Timestamps are one millisecond apart.
type Numbers struct {
	Seed uint64
	Keys int
}

// Record makes the i-th record.
func (n Numbers) Record(topic string, i int64) *kgo.Record {
	rng := rand.New(rand.NewPCG(n.Seed, uint64(i)))
	key := fmt.Sprintf("k%04d", rng.IntN(n.Keys))
	return &kgo.Record{
		Topic:     topic,
		Key:       []byte(key),
		Value:     fmt.Appendf(nil, `{"key":"%s","n":%d,"i":%d}`, key, 1+rng.IntN(100), i),
		Timestamp: time.UnixMilli(1_700_000_000_000 + i),
	}
}

// Produce writes records and waits until all are acknowledged.
func (c *Cluster) Produce(t testing.TB, records ...*kgo.Record) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(Context(t, 2*time.Minute), records...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// ProduceTo writes records to the partitions that they name, and sets their offsets.
func (c *Cluster) ProduceTo(t testing.TB, records ...*kgo.Record) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(Context(t, 20*time.Second), records...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// ProduceNumbers writes the records from up to, but not including, to.
func (c *Cluster) ProduceNumbers(t testing.TB, topic string, n Numbers, from, to int64) {
	t.Helper()
	records := make([]*kgo.Record, 0, to-from)
	for i := from; i < to; i++ {
		records = append(records, n.Record(topic, i))
	}
	c.Produce(t, records...)
}

// Feed writes an input at a steady rate until it is stopped.
type Feed struct {
	t    testing.TB
	stop context.CancelFunc
	done chan struct{}
	sent atomic.Int64
	err  error // read after done
}

// StartFeed begins to write n to a topic, perSecond records a second, in bursts of a fiftieth of that.
func (c *Cluster) StartFeed(t testing.TB, topic string, n Numbers, perSecond int) *Feed {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers...), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := &Feed{t: t, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer cl.Close()
		f.err = f.run(ctx, cl, topic, n, perSecond)
	}()
	t.Cleanup(func() { f.stop(); <-f.done })
	return f
}

func (f *Feed) run(ctx context.Context, cl *kgo.Client, topic string, n Numbers, perSecond int) error {
	const bursts = 50
	tick := time.NewTicker(time.Second / bursts)
	defer tick.Stop()
	var failed atomic.Pointer[error]
	for ctx.Err() == nil {
		for range max(1, perSecond/bursts) {
			cl.Produce(context.Background(), n.Record(topic, f.sent.Load()), func(_ *kgo.Record, err error) {
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			})
			f.sent.Add(1)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	flush, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := cl.Flush(flush); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Sent is how many records have been handed to the producer so far.
func (f *Feed) Sent() int64 { return f.sent.Load() }

// Stop ends the feed, waits until all is acknowledged and returns how many records were written.
func (f *Feed) Stop() int64 {
	f.t.Helper()
	f.stop()
	<-f.done
	if f.err != nil {
		f.t.Fatalf("feed: %v", f.err)
	}
	return f.sent.Load()
}

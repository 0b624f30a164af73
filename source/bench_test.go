package source

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	benchRecords    = 1_000_000
	benchPartitions = 4
)

// benchTopic fills a topic of 4 partitions with records of 120 bytes, on KAFKA_BROKERS or in memory.
func benchTopic(b *testing.B, codec kgo.CompressionCodec) []kgo.Opt {
	seeds := strings.Split(os.Getenv("KAFKA_BROKERS"), ",")
	if seeds[0] == "" {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(c.Close)
		seeds = c.ListenAddrs()
	}
	opts := []kgo.Opt{kgo.SeedBrokers(seeds...)}
	cl, err := kgo.NewClient(append(opts, kgo.ProducerBatchCompression(codec), kgo.MaxBufferedRecords(100_000), kgo.ProducerLinger(20*time.Millisecond))...)
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	topic := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	if _, err := kadm.NewClient(cl).CreateTopic(b.Context(), benchPartitions, 1, nil, topic); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cl, _ := kgo.NewClient(opts...)
		defer cl.Close()
		_, _ = kadm.NewClient(cl).DeleteTopics(context.Background(), topic)
	})
	for i := range benchRecords {
		user := fmt.Appendf(nil, "user-%06d", i*7919%200_000)
		value := fmt.Appendf(nil, `{"user":"%s","amount":%d.%02d,"ts":%d,"page":"/catalogue/item/%d","pad":"xxxxxxxxxxxxxx"}`, user, i%40, i%100, 1_700_000_000_000+i, i%1000)
		cl.Produce(b.Context(), &kgo.Record{Topic: topic, Key: user, Value: value}, nil)
	}
	if err := cl.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return append(opts, kgo.ConsumeTopics(topic))
}

// BenchmarkReader reads a topic to its end, in memory or on KAFKA_BROKERS:
//
//	go test -run '^$' -bench Reader -benchtime 1x ./source/
func BenchmarkReader(b *testing.B) {
	for _, codec := range []struct {
		name string
		c    kgo.CompressionCodec
	}{{"none", kgo.NoCompression()}, {"lz4", kgo.Lz4Compression()}, {"snappy", kgo.SnappyCompression()}} {
		b.Run(codec.name, func(b *testing.B) {
			opts := benchTopic(b, codec.c)
			topic, opts := topicOf(b, opts)
			b.Run("weir", func(b *testing.B) { benchWeir(b, topic, opts) })
			b.Run("kgo", func(b *testing.B) { benchKgo(b, topic, opts) })
		})
	}
}

func topicOf(b *testing.B, opts []kgo.Opt) (string, []kgo.Opt) {
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	return cl.GetConsumeTopics()[0], opts[:len(opts)-1]
}

func benchWeir(b *testing.B, topic string, opts []kgo.Opt) {
	dial := func(_ context.Context, extra ...kgo.Opt) (*kgo.Client, error) {
		return kgo.NewClient(append(opts, extra...)...)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := Kafka(KafkaOptions{Topics: []string{topic}, StopAt: "latest"}).Open(b.Context(), Env{Dial: dial, Name: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		splits, err := s.Resolve(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		r, err := s.Reader(0, 1, splits)
		if err != nil {
			b.Fatal(err)
		}
		events, done := make(chan Event, 4), make(chan error)
		go func() { done <- r.Run(b.Context(), events) }()
		n := 0
		for e := range events {
			n += len(e.Batch.Records)
			if e.Kind == EventEnd {
				break
			}
		}
		if err := <-done; err != nil || n != benchRecords {
			b.Fatal(n, err)
		}
		s.Close()
	}
	b.ReportMetric(float64(benchRecords*b.N)/b.Elapsed().Seconds(), "records/s")
}

// benchKgo is the same with kgo's own consumer, to compare with.
func benchKgo(b *testing.B, topic string, opts []kgo.Opt) {
	b.ReportAllocs()
	for b.Loop() {
		cl, err := kgo.NewClient(append(opts, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
		if err != nil {
			b.Fatal(err)
		}
		for n := 0; n < benchRecords; {
			n += cl.PollFetches(b.Context()).NumRecords()
		}
		cl.Close()
	}
	b.ReportMetric(float64(benchRecords*b.N)/b.Elapsed().Seconds(), "records/s")
}

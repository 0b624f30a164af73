package sink

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/stream"
)

// benchClient is a client of KAFKA_BROKERS, or of a cluster in memory that discards what it gets, and a topic to write to.
func benchClient(b *testing.B) (*kgo.Client, string) {
	if os.Getenv("KAFKA_BROKERS") != "" {
		cl := realClient(b)
		topic := fmt.Sprintf("bench-%d", time.Now().UnixNano())
		createTopic(b, cl, topic, 4)
		return cl, topic
	}
	return newClient(b, newCluster(b, kfake.BlackholeProduce())), "out"
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var benchKeys, benchValues = func() (keys, values [][]byte) {
	for i := range 4096 {
		keys = append(keys, fmt.Appendf(nil, "user-%05d", i*7919%100_000))
		values = append(values, fmt.Appendf(nil, `{"user":"user-%05d","amount":%d.%02d,"item":"item-%d","ts":17000%08d,"page":"/products/%d"}`,
			i*7919%100_000, i%1000, i%100, i%512, i*31, i%77))
	}
	return keys, values
}()

// BenchmarkWrite writes records of about 110 bytes in transactions of 100,000. Compare cpu-ns/op with BenchmarkKgo.
func BenchmarkWrite(b *testing.B) {
	for _, compression := range []string{"snappy", "none", "lz4"} {
		b.Run(compression, func(b *testing.B) {
			cl, topic := benchClient(b)
			c := testConfig(cl)
			c.Job, c.CheckpointTopic, c.Compression, c.RequestTimeout = topic, topic, compression, time.Minute
			ctx := context.Background()
			txns := newTransactions(b, c)
			must(b, txns.Fence(ctx))
			txns.Begin(1)
			w, err := txns.Writer(ctx, topic)
			must(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			before, checkpoint := cpu(), int64(1)
			rec := stream.Record{Timestamp: testTime}
			for i := range b.N {
				rec.Key, rec.Value = benchKeys[i%4096], benchValues[i%4096]
				if err := w.Write(&rec); err != nil {
					b.Fatal(err)
				}
				if i%100_000 == 99_999 {
					must(b, w.Barrier(checkpoint))
					must(b, complete(ctx, txns, checkpoint))
					checkpoint++
				}
			}
			must(b, w.Barrier(checkpoint))
			must(b, txns.Flush(ctx, checkpoint))
			b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			s := txns.Stats()
			b.ReportMetric(float64(s.Bytes)/float64(max(s.Batches, 1)), "B/batch")
			b.ReportMetric(float64(b.N)/float64(max(s.Requests, 1)), "records/request")
		})
	}
}

// BenchmarkKgo writes the same with kgo's own producer in transactions.
func BenchmarkKgo(b *testing.B) {
	for name, codec := range map[string]kgo.CompressionCodec{"snappy": kgo.SnappyCompression(), "none": kgo.NoCompression(), "lz4": kgo.Lz4Compression()} {
		b.Run(name, func(b *testing.B) {
			cl, topic := benchClient(b)
			p, err := kgo.NewClient(append(cl.Opts(), kgo.TransactionalID("kgo-"+topic), kgo.ProducerBatchCompression(codec),
				kgo.MaxBufferedRecords(250_000), kgo.ProducerLinger(5*time.Millisecond), kgo.DefaultProduceTopic(topic))...)
			must(b, err)
			defer p.Close()
			ctx := context.Background()
			must(b, p.BeginTransaction())
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu()
			for i := range b.N {
				p.Produce(ctx, &kgo.Record{Key: benchKeys[i%4096], Value: benchValues[i%4096]}, func(_ *kgo.Record, err error) {
					if err != nil {
						b.Error(err)
					}
				})
				if i%100_000 == 99_999 {
					must(b, p.Flush(ctx))
					must(b, p.EndTransaction(ctx, kgo.TryCommit))
					must(b, p.BeginTransaction())
				}
			}
			must(b, p.Flush(ctx))
			b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

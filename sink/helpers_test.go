package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/stream"
)

const checkpoints = "weir.job.checkpoints"

// newCluster starts a cluster in memory with an output topic "out" and a checkpoint topic.
func newCluster(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(2), kfake.SeedTopics(4, "out"), kfake.SeedTopics(1, checkpoints),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// holdUntil lets the request that c is at wait until release is closed, and says when that begins. Once it is closed nothing sleeps: a
// sleep that begins while c closes would leave its goroutine behind.
func holdUntil(c *kfake.Cluster, release <-chan struct{}, begins func()) {
	select {
	case <-release:
	default:
		c.SleepControl(func() {
			begins()
			<-release
		})
	}
}

// holdProduce holds the next produce request until release is closed; held is closed when it is there.
func holdProduce(c *kfake.Cluster) (held <-chan struct{}, release chan<- struct{}) {
	there, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		holdUntil(c, goOn, func() { once.Do(func() { close(there) }) })
		return nil, nil, false
	})
	return there, goOn
}

func newClient(t testing.TB, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// setVersion sets the cluster's transaction.version.
func setVersion(t testing.TB, cl *kgo.Client, version int16) {
	t.Helper()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	update := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	update.Feature, update.MaxVersionLevel, update.UpgradeType = "transaction.version", version, 2
	req.FeatureUpdates = append(req.FeatureUpdates, update)
	resp, err := req.RequestWith(testContext(t), cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func testConfig(cl *kgo.Client) Config {
	return Config{
		Client: cl, Job: "job", CheckpointTopic: checkpoints,
		TransactionTimeout: 30 * time.Second, RequestTimeout: 5 * time.Second,
	}
}

func newTransactions(t testing.TB, c Config) *KafkaTransactions {
	t.Helper()
	txns, err := NewTransactions(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(txns.Close)
	return txns
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// complete does all that the engine does for a checkpoint once its writers have passed the barrier.
func complete(ctx context.Context, txns *KafkaTransactions, checkpoint int64) error {
	if err := txns.Flush(ctx, checkpoint); err != nil {
		return err
	}
	if _, err := txns.WritePointer(ctx, checkpoint, fmt.Appendf(nil, "pointer %d", checkpoint)); err != nil {
		return err
	}
	if err := txns.CommitOffsets(ctx, checkpoint, nil); err != nil {
		return err
	}
	return txns.Commit(ctx, checkpoint)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testTime is the timestamp of records: a real broker deletes what is older than its retention, in the middle of a test.
var testTime = time.Now().UnixMilli()

func record(key, value string) *stream.Record {
	return &stream.Record{Key: []byte(key), Value: []byte(value), Timestamp: testTime}
}

// committed reads what a read_committed reader sees of a topic now, ordered by partition and offset.
func committed(t testing.TB, cl *kgo.Client, topic string) []*kgo.Record {
	t.Helper()
	return readTopic(t, cl, topic, kgo.ReadCommitted())
}

func readTopic(t testing.TB, cl *kgo.Client, topic string, level kgo.IsolationLevel) []*kgo.Record {
	t.Helper()
	ctx := testContext(t)
	ends := stableOffsets(t, cl, topic, level)
	reader, err := kgo.NewClient(append(cl.Opts(), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(level), kgo.DisableFetchSessions(), kgo.KeepControlRecords(), kgo.FetchMaxWait(20*time.Millisecond))...)
	must(t, err)
	defer reader.Close()
	var records []*kgo.Record
	for {
		maps.DeleteFunc(ends, func(_ int32, end int64) bool { return end == 0 })
		if len(ends) == 0 {
			break
		}
		fetches := reader.PollFetches(ctx)
		must(t, fetches.Err0())
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				records = append(records, r)
			}
			if r.Offset+1 >= ends[r.Partition] {
				delete(ends, r.Partition)
			}
		})
	}
	slices.SortFunc(records, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return records
}

// stableOffsets returns where a reader ends: the last stable offset, or the high watermark, of each partition.
func stableOffsets(t testing.TB, cl *kgo.Client, topic string, level kgo.IsolationLevel) map[int32]int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	if level == kgo.ReadCommitted() {
		req.IsolationLevel = 1
	}
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	meta := kmsg.NewPtrMetadataRequest()
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = &topic
	meta.Topics = append(meta.Topics, mt)
	m, err := meta.RequestWith(testContext(t), cl)
	must(t, err)
	for _, p := range m.Topics[0].Partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p.Partition, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(testContext(t), cl)
	must(t, err)
	ends := map[int32]int64{}
	for _, p := range resp.Topics[0].Partitions {
		must(t, kerr.ErrorForCode(p.ErrorCode))
		ends[p.Partition] = p.Offset
	}
	return ends
}

// GroupOffset is groupOffset once no transaction of the group is under way.
func (l *PointerLog) GroupOffset(ctx context.Context) (offset int64, metadata string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	var backoff kafka.Backoff
	for {
		offset, metadata, ok, err = l.groupOffset(ctx)
		retry := kafka.IsRetriable(err) || errors.Is(err, kerr.UnstableOffsetCommit)
		if err == nil || !retry || !backoff.Wait(ctx) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("group %s: offset of topic %s partition %d: %w", l.config.Group, l.config.Topic, l.config.Partition, err)
	}
	return offset, metadata, ok, err
}

package kafka

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestWhereLogsAre(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(2, "a", "b"))
	ctx := testContext(t)
	cl, err := Dial(ctx, Config{Brokers: c.ListenAddrs()}, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must(t, err)
	defer cl.Close()
	for i := range 4 {
		must(t, cl.ProduceSync(ctx, &kgo.Record{Topic: "a", Partition: 1, Timestamp: time.UnixMilli(int64(1000 * i))}).FirstErr())
	}
	admin := kadm.NewClient(cl)
	_, err = admin.DeleteRecords(ctx, kadm.Offsets{"a": {1: {Topic: "a", Partition: 1, At: 1}}})
	must(t, err)
	tx, err := Dial(ctx, Config{Brokers: c.ListenAddrs()}, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("x"))
	must(t, err)
	defer tx.Close()
	must(t, tx.BeginTransaction())
	must(t, tx.ProduceSync(ctx, &kgo.Record{Topic: "a", Partition: 1, Timestamp: time.UnixMilli(5000)}).FirstErr())

	cluster := NewCluster(cl)
	logs, err := cluster.LogsAt(ctx, time.UnixMilli(2000), "a", "b")
	must(t, err)
	want := map[string]map[int32]Log{"a": {0: {}, 1: {Start: 1, Stable: 4, End: 5, At: 2}}, "b": {0: {}, 1: {}}}
	if !maps.EqualFunc(logs, want, func(a, b map[int32]Log) bool { return maps.Equal(a, b) }) {
		t.Errorf("got %+v, want %+v", logs, want)
	}
	if logs, err = cluster.LogsAt(ctx, time.UnixMilli(9000), "a"); err != nil || logs["a"][1].At != 5 {
		t.Errorf("after all records: %+v, %v", logs, err)
	}
	if logs, err = cluster.Logs(ctx); err != nil || len(logs) != 0 {
		t.Errorf("of no topic: %+v, %v", logs, err)
	}
	if _, err = cluster.Logs(ctx, "a", "none"); !errors.Is(err, ErrNoTopic) || err.Error() != "topic none: the topic does not exist" {
		t.Errorf("of a topic that is not there: %v", err)
	}
}

func TestAPartitionThatDoesNotAnswerIsNamed(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	ctx := testContext(t)
	cl, err := Dial(ctx, Config{Brokers: c.ListenAddrs()})
	must(t, err)
	defer cl.Close()
	c.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := r.(*kmsg.ListOffsetsRequest)
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, rt := range req.Topics {
			topic := kmsg.NewListOffsetsResponseTopic()
			topic.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				p := kmsg.NewListOffsetsResponseTopicPartition()
				p.Partition = rp.Partition
				if p.Partition == 1 {
					p.ErrorCode = kerr.KafkaStorageError.Code
				}
				topic.Partitions = append(topic.Partitions, p)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
	var topic *TopicError
	if _, err = NewCluster(cl).Logs(ctx, "a"); !errors.As(err, &topic) || !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("%v", err)
	}
}

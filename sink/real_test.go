package sink

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// realClient is a client of the cluster in KAFKA_BROKERS.
func realClient(t testing.TB) *kgo.Client {
	t.Helper()
	brokers := os.Getenv("KAFKA_BROKERS")
	if brokers == "" {
		t.Skip("needs a broker: KAFKA_BROKERS=127.0.0.1:9092 go test ./sink")
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.DisableClientMetrics())
	must(t, err)
	t.Cleanup(cl.Close)
	return cl
}

func createTopic(t testing.TB, cl *kgo.Client, name string, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(testContext(t), cl)
	must(t, err)
	must(t, kerr.ErrorForCode(resp.Topics[0].ErrorCode))
	t.Cleanup(func() {
		req := kmsg.NewPtrDeleteTopicsRequest()
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = &name
		req.Topics, req.TopicNames = append(req.Topics, topic), []string{name}
		if _, err := req.RequestWith(testContext(t), cl); err != nil {
			t.Error(err)
		}
	})
}

// The whole life of an attempt on a real broker, whatever its transaction.version is: checkpoints over several partitions,
// a takeover in the middle, and what recovery reads after it.
func TestOnARealBroker(t *testing.T) {
	cl := realClient(t)
	ctx := testContext(t)
	job := fmt.Sprintf("sinktest-%d", time.Now().UnixNano())
	createTopic(t, cl, job, 4)
	c := testConfig(cl)
	c.Job, c.CheckpointTopic = job, "weir."+job+".checkpoints"
	log, err := NewPointerLog(cl, LogConfig{Topic: c.CheckpointTopic, Group: job})
	must(t, err)
	must(t, log.Ensure(ctx))
	must(t, log.Ensure(ctx))
	if last, err := log.Last(ctx); err != nil || last != nil {
		t.Fatalf("last of an empty log: %v, %v", last, err)
	}

	first := newTransactions(t, c)
	began := time.Now()
	must(t, first.Fence(ctx))
	t.Logf("transaction.version %d, fenced in %s", first.TransactionVersion(), time.Since(began))
	first.Begin(1)
	w, err := first.Writer(ctx, job)
	must(t, err)
	n := 0
	write := func(w Writer, count int) {
		for range count {
			must(t, w.Write(record(fmt.Sprintf("k%d", n%10), fmt.Sprint(n))))
			n++
		}
	}
	var longest, sum time.Duration
	const rounds = 40
	for checkpoint := int64(1); checkpoint <= rounds; checkpoint++ {
		write(w, 50)
		must(t, w.Barrier(checkpoint))
		write(w, 1)
		must(t, w.Flush())
		began := time.Now()
		must(t, complete(ctx, first, checkpoint))
		took := time.Since(began)
		longest, sum = max(longest, took), sum+took
	}
	t.Logf("checkpoint completed in %s on average, %s at most", sum/rounds, longest)
	committedRecords := n - 1
	write(w, 50)
	must(t, w.Barrier(rounds+1))
	must(t, first.Flush(ctx, rounds+1))

	second := newTransactions(t, c)
	began = time.Now()
	must(t, second.Fence(ctx))
	last, err := log.Last(ctx)
	must(t, err)
	t.Logf("recovered in %s", time.Since(began))
	if string(last.Key) != fmt.Sprint(rounds) || string(last.Value) != fmt.Sprintf("pointer %d", rounds) {
		t.Errorf("last pointer %s %s", last.Key, last.Value)
	}
	if offset, metadata, ok, err := log.GroupOffset(ctx); err != nil || !ok || offset != last.Offset+1 || metadata != fmt.Sprint(rounds) {
		t.Errorf("group offset %d %q %v %v, pointer at %d", offset, metadata, ok, err, last.Offset)
	}
	var fenced *FencedError
	if err := complete(ctx, first, rounds+1); !errors.As(err, &fenced) {
		t.Errorf("the first attempt goes on: %v", err)
	}
	must(t, complete(ctx, second, rounds+1))
	seen := map[string]int{}
	for _, r := range committed(t, cl, job) {
		seen[string(r.Value)]++
	}
	for i := range committedRecords {
		if n := seen[fmt.Sprint(i)]; n != 1 {
			t.Errorf("record %d of %d is visible %d times", i, committedRecords, n)
		}
	}
	if len(seen) != committedRecords {
		t.Errorf("%d records are visible, want %d; stable %v, ends %v", len(seen), committedRecords,
			stableOffsets(t, cl, job, kgo.ReadCommitted()), stableOffsets(t, cl, job, kgo.ReadUncommitted()))
	}
	pointers, err := log.List(ctx, 100)
	must(t, err)
	if len(pointers) != rounds+1 || string(pointers[0].Key) != fmt.Sprint(rounds+1) || string(pointers[rounds].Key) != "1" {
		t.Errorf("%d pointers, newest %s", len(pointers), pointers[0].Key)
	}
	must(t, log.DeleteBefore(ctx, pointers[1].Offset))
	if pointers, err = log.List(ctx, 100); err != nil || len(pointers) != 2 {
		t.Errorf("%d pointers after the deletion: %v", len(pointers), err)
	}
}

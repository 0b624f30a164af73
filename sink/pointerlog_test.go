package sink

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func newLog(t testing.TB, cl *kgo.Client, c LogConfig) *PointerLog {
	t.Helper()
	if c.Topic == "" {
		c.Topic = "weir.job.log"
	}
	c.Group = "job"
	log, err := NewPointerLog(cl, c)
	must(t, err)
	return log
}

// logAndTransactions makes a checkpoint topic and an attempt that has fenced.
func logAndTransactions(t testing.TB, cl *kgo.Client, c LogConfig) (*PointerLog, *KafkaTransactions) {
	t.Helper()
	log := newLog(t, cl, c)
	must(t, log.Ensure(testContext(t)))
	return log, fencedAttempt(t, cl, log)
}

func fencedAttempt(t testing.TB, cl *kgo.Client, log *PointerLog) *KafkaTransactions {
	t.Helper()
	c := testConfig(cl)
	c.CheckpointTopic = log.Topic()
	txns := newTransactions(t, c)
	must(t, txns.Fence(testContext(t)))
	return txns
}

func TestTheCheckpointTopicIsMadeAndItsSettingsAreChecked(t *testing.T) {
	c := newCluster(t)
	cl := newClient(t, c)
	ctx := testContext(t)
	log := newLog(t, cl, LogConfig{Partition: 2})
	must(t, log.Ensure(ctx))
	must(t, log.Ensure(ctx))
	if log.Partitions() != 3 || log.TopicID() == [16]byte{} || log.MaxPointerBytes() < 8<<20-1000 {
		t.Errorf("%d partitions, ID %x, pointers up to %d bytes", log.Partitions(), log.TopicID(), log.MaxPointerBytes())
	}
	good := map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
	for name, value := range map[string]string{"cleanup.policy": "compact", "retention.ms": "1000", "retention.bytes": "5"} {
		t.Run(name, func(t *testing.T) {
			configs := map[string]string{name: value}
			for n, v := range good {
				if n != name {
					configs[n] = v
				}
			}
			topic := "bad." + name
			must(t, c.CreateTopic(topic, 1, configs))
			err := newLog(t, cl, LogConfig{Topic: topic}).Ensure(ctx)
			want := fmt.Sprintf("checkpoint topic %s: %s is %s and must be %s: ", topic, name, value, good[name])
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %s...", err, want)
			}
		})
	}
	if err := newLog(t, cl, LogConfig{Partition: 3}).Ensure(ctx); err == nil ||
		err.Error() != "checkpoint topic weir.job.log: it has 3 partitions, and partition 3 is needed" {
		t.Errorf("a partition too many: %v", err)
	}
}

// Committed, aborted and control records stand side by side at the end; the last committed pointer is found all the same.
func TestTheLastPointerIsFoundBehindAbortedOnes(t *testing.T) {
	cl := newClient(t, newCluster(t))
	ctx := testContext(t)
	log, txns := logAndTransactions(t, cl, LogConfig{})
	if last, err := log.Last(ctx); err != nil || last != nil {
		t.Fatalf("an empty log has %v, %v", last, err)
	}
	if _, _, ok, err := log.GroupOffset(ctx); err != nil || ok {
		t.Fatalf("a new group has an offset: %v, %v", ok, err)
	}
	var at int64
	for checkpoint := int64(1); checkpoint <= 3; checkpoint++ {
		offset, err := txns.WritePointer(ctx, checkpoint, fmt.Appendf(nil, "pointer %d", checkpoint))
		must(t, err)
		must(t, txns.CommitOffsets(ctx, checkpoint, nil))
		must(t, txns.Commit(ctx, checkpoint))
		at = offset
	}
	for range 30 { // each aborts the pointer of the one before
		txns.Close()
		txns = fencedAttempt(t, cl, log)
		_, err := txns.WritePointer(ctx, 4, []byte("never committed"))
		must(t, err)
	}
	txns = fencedAttempt(t, cl, log)
	last, err := log.Last(ctx)
	must(t, err)
	if last == nil || last.Offset != at || string(last.Key) != "3" || string(last.Value) != "pointer 3" {
		t.Fatalf("last pointer %+v, want that at %d", last, at)
	}
	offset, metadata, ok, err := log.GroupOffset(ctx)
	if err != nil || !ok || offset != at+1 || metadata != "3" {
		t.Errorf("group offset %d %q %v %v, want %d and 3", offset, metadata, ok, err, at+1)
	}
	pointers, err := log.List(ctx, 2)
	must(t, err)
	if len(pointers) != 2 || string(pointers[0].Key) != "3" || string(pointers[1].Key) != "2" {
		t.Errorf("list %+v", pointers)
	}
	one, err := log.At(ctx, pointers[1].Offset)
	if err != nil || string(one.Value) != "pointer 2" {
		t.Errorf("at %d: %v, %v", pointers[1].Offset, one, err)
	}
	if _, err := log.At(ctx, at+1); err == nil { // the marker of the commit
		t.Errorf("a marker is taken for a pointer")
	}
	must(t, log.DeleteBefore(ctx, at))
	if pointers, err = log.List(ctx, 10); err != nil || len(pointers) != 1 {
		t.Errorf("%d pointers after the deletion, %v", len(pointers), err)
	}
	must(t, complete(ctx, txns, 4))
}

// Rule 5: what lies below an open transaction is not the last pointer. Whose transaction it is, the error tells.
func TestAPointerBelowAnOpenTransactionIsNotTakenForTheLast(t *testing.T) {
	cl := newClient(t, newCluster(t))
	ctx := testContext(t)
	log, txns := logAndTransactions(t, cl, LogConfig{Timeout: 300 * time.Millisecond})
	must(t, complete(ctx, txns, 1))
	_, err := txns.WritePointer(ctx, 2, []byte("open"))
	must(t, err)
	var open *OpenTransactionError
	_, err = log.Last(ctx)
	if !errors.As(err, &open) || len(open.Producers) != 1 || !strings.HasPrefix(open.Producers[0], "weir.job.0.2 (producer ") {
		t.Fatalf("error %v, want an open transaction of weir.job.0.2", err)
	}
	must(t, txns.CommitOffsets(ctx, 2, nil))
	must(t, txns.Commit(ctx, 2))
	if last, err := log.Last(ctx); err != nil || string(last.Key) != "2" {
		t.Errorf("last %v, %v", last, err)
	}
}

func TestAPointerTooLargeIsRefusedAndASmallerOneGoesOn(t *testing.T) {
	cl := newClient(t, newCluster(t))
	ctx := testContext(t)
	log, txns := logAndTransactions(t, cl, LogConfig{MaxMessageBytes: 10_000})
	random := variedRecords()[5:]
	var large []byte
	for len(large) < 20_000 {
		for _, r := range random {
			large = append(large, r.Value...)
		}
	}
	var tooLarge *TooLargeError
	if _, err := txns.WritePointer(ctx, 1, large); !errors.As(err, &tooLarge) || tooLarge.Max != 10_000 || tooLarge.Compressed <= 10_000 {
		t.Fatalf("error %v", err)
	}
	must(t, complete(ctx, txns, 1))
	// Large, but not once compressed.
	_, err := txns.WritePointer(ctx, 2, make([]byte, 100_000))
	must(t, err)
	must(t, txns.Commit(ctx, 2))
	if last, err := log.Last(ctx); err != nil || len(last.Value) != 100_000 {
		t.Errorf("last %v", err)
	}
}

// The log is read while its leader moves from broker to broker.
func TestTheLogIsReadWhereverItsLeaderIs(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3))
	cl := newClient(t, c)
	ctx := testContext(t)
	log, txns := logAndTransactions(t, cl, LogConfig{})
	for checkpoint := int64(1); checkpoint <= 8; checkpoint++ {
		must(t, c.MoveTopicPartition(log.Topic(), 0, int32(checkpoint%3)))
		must(t, complete(ctx, txns, checkpoint))
		must(t, c.MoveTopicPartition(log.Topic(), 0, int32((checkpoint+1)%3)))
		last, err := log.Last(ctx)
		must(t, err)
		if string(last.Key) != fmt.Sprint(checkpoint) {
			t.Fatalf("last %s, want %d", last.Key, checkpoint)
		}
	}
}

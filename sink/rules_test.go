package sink

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// While a broker has not acknowledged a batch, its checkpoint is neither flushed nor can it be committed.
func TestFlushWaitsForEveryAcknowledgement(t *testing.T) {
	c := newCluster(t)
	txns := newTransactions(t, testConfig(newClient(t, c)))
	w := startWriting(t, txns, "out")
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() {
			once.Do(func() { close(held) })
			<-release
		})
		return nil, nil, false
	})
	must(t, w.Write(record("k", "v")))
	must(t, w.Barrier(1))
	<-held
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := txns.Flush(over, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("flushed while a batch is not acknowledged: %v", err)
	}
	const want = "transaction weir.job.0.1: checkpoint 1 has 1 record batches that are not acknowledged"
	if err := txns.mayCommit(txns.slots[1], 1); err == nil || err.Error() != want {
		t.Errorf("commit of what is not acknowledged: %v", err)
	}
	close(release)
	ctx := testContext(t)
	must(t, txns.Flush(ctx, 1))
	must(t, complete(ctx, txns, 1))
}

// Rule 11: what the group says is final only when no transaction of the group is open.
func TestTheGroupsOffsetWaitsForAnOpenTransaction(t *testing.T) {
	c := newCluster(t)
	ctx := testContext(t)
	log, txns := logAndTransactions(t, newClient(t, c), LogConfig{Timeout: 300 * time.Millisecond})
	must(t, complete(ctx, txns, 1))
	_, err := txns.WritePointer(ctx, 2, []byte("p"))
	must(t, err)
	must(t, txns.CommitOffsets(ctx, 2, nil))
	if _, metadata, _, err := log.GroupOffset(ctx); !errors.Is(err, kerr.UnstableOffsetCommit) {
		t.Errorf("the group says %q while checkpoint 2 is open: %v", metadata, err)
	}
	must(t, txns.Commit(ctx, 2))
	if _, metadata, ok, err := log.GroupOffset(ctx); err != nil || !ok || metadata != "2" {
		t.Errorf("the group says %q, %v, %v", metadata, ok, err)
	}
}

// Rule 20: a broker that does not answer ends a call within its timeout, whatever the caller's context says.
func TestEveryCallHasADeadline(t *testing.T) {
	for _, tc := range []struct {
		name string
		key  kmsg.Key
		call func(ctx context.Context, txns *KafkaTransactions, log *PointerLog) error
	}{
		{"fence", kmsg.InitProducerID, func(ctx context.Context, txns *KafkaTransactions, _ *PointerLog) error { return txns.Fence(ctx) }},
		{"write the pointer", kmsg.Produce, func(ctx context.Context, txns *KafkaTransactions, _ *PointerLog) error {
			_, err := txns.WritePointer(ctx, 2, []byte("p"))
			return err
		}},
		{"commit offsets", kmsg.TxnOffsetCommit, func(ctx context.Context, txns *KafkaTransactions, _ *PointerLog) error {
			if _, err := txns.WritePointer(ctx, 2, []byte("p")); err != nil {
				return nil // the call before, which is not meant
			}
			return txns.CommitOffsets(ctx, 2, nil)
		}},
		{"commit", kmsg.EndTxn, func(ctx context.Context, txns *KafkaTransactions, _ *PointerLog) error { return complete(ctx, txns, 2) }},
		{"ask who has the slots", kmsg.DescribeTransactions, func(ctx context.Context, txns *KafkaTransactions, _ *PointerLog) error {
			_, _, err := txns.Taken(ctx)
			return err
		}},
		{"read the last pointer", kmsg.Fetch, func(ctx context.Context, _ *KafkaTransactions, log *PointerLog) error {
			_, err := log.Last(ctx)
			return err
		}},
		{"read the group", kmsg.OffsetFetch, func(ctx context.Context, _ *KafkaTransactions, log *PointerLog) error {
			_, _, _, err := log.GroupOffset(ctx)
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.NumBrokers(1))
			cl := newClient(t, c)
			log, txns := logAndTransactions(t, cl, LogConfig{})
			must(t, complete(testContext(t), txns, 1))
			txns.mu.Lock()
			log.config.Timeout, txns.config.RequestTimeout = 500*time.Millisecond, 500*time.Millisecond
			txns.mu.Unlock()
			release := make(chan struct{})
			c.ControlKey(int16(tc.key), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				c.SleepControl(func() { <-release })
				return nil, nil, false
			})
			began := time.Now()
			ended := make(chan error, 1)
			go func() { ended <- tc.call(context.Background(), txns, log) }()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("no error")
				}
				if took := time.Since(began); took < 400*time.Millisecond {
					t.Errorf("it ended after %s", took) // of something else
				}
			case <-time.After(10 * time.Second):
				t.Error("it does not end")
			}
			close(release)
		})
	}
}

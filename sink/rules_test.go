package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// While a broker has not acknowledged a batch, its checkpoint is neither flushed nor can it be committed.
func TestFlushWaitsForEveryAcknowledgement(t *testing.T) {
	c := newCluster(t)
	txns := newTransactions(t, testConfig(newClient(t, c)))
	w := startWriting(t, txns, "out")
	held, release := holdProduce(c)
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

// Rule 4: what follows in a partition waits for the acknowledgement of what is before it, also if it is of the next
// transaction and a request to the broker could take it.
func TestAPartitionHasOneBatchOnItsWay(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	txns := newTransactions(t, testConfig(newClient(t, c)))
	w := startWriting(t, txns, "out")
	held, release := holdProduce(c)
	must(t, w.Write(record("k", "1")))
	must(t, w.Barrier(1))
	<-held
	must(t, w.Write(record("k", "2")))
	must(t, w.Barrier(2))
	<-time.After(50 * time.Millisecond) // for a sender that would take it
	txns.mu.Lock()
	for _, p := range w.(*writer).topic.partitions {
		if p.offered {
			t.Error("a batch is offered to the broker while the one before it is on its way")
		}
	}
	txns.mu.Unlock()
	if n := txns.Stats().Requests; n != 1 {
		t.Errorf("%d requests are on their way, want 1", n)
	}
	close(release)
	ctx := testContext(t)
	must(t, complete(ctx, txns, 1))
	must(t, complete(ctx, txns, 2))
}

// The coordinator adds to a transaction what one request brings, and lets another wait for long: so those that bring new
// partitions go one after the other, and what has waited goes together. Another transaction is not held up.
func TestPartitionsJoinATransactionOneRequestAtATime(t *testing.T) {
	for _, version := range []int16{2, 1} {
		t.Run(fmt.Sprint("transaction.version=", version), func(t *testing.T) {
			c := newCluster(t, kfake.NumBrokers(1))
			cl := newClient(t, c)
			setVersion(t, cl, version)
			txns := newTransactions(t, testConfig(cl))
			w := startWriting(t, txns, "out")
			held, release := holdProduce(c)
			write := func(partition int) {
				must(t, w.Write(record(keyOf(partition, 4), "v")))
				must(t, w.Flush())
			}
			write(0)
			<-held
			write(1)
			write(3)
			waitFor(t, func() bool { // for a sender that takes them
				txns.mu.Lock()
				defer txns.mu.Unlock()
				return len(txns.brokers[w.(*writer).topic.partitions[1].leader].waiting[1]) == 2 || txns.Stats().Requests > 1
			})
			if n := txns.Stats().Requests; n != 1 {
				t.Errorf("%d requests are on their way, want 1", n)
			}
			must(t, w.Barrier(1))
			write(2)
			waitFor(t, func() bool { return txns.Stats().Requests == 2 })
			close(release)
			waitFor(t, func() bool { return txns.Stats().Batches == 4 })
			if n := txns.Stats().Requests; n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
			ctx := testContext(t)
			must(t, w.Barrier(2))
			must(t, complete(ctx, txns, 1))
			must(t, complete(ctx, txns, 2))
			if n := len(committed(t, cl, "out")); n != 4 {
				t.Errorf("%d records, want 4", n)
			}
		})
	}
}

// A broker works on one request of a connection at a time: two large ones come over two, and none waits for the other.
func TestLargeRequestsAreWorkedOnSideBySide(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	config := testConfig(newClient(t, c))
	config.Compression = "none"
	txns := newTransactions(t, config)
	w := startWriting(t, txns, "out")
	ctx := testContext(t)
	write := func(partition int) {
		t.Helper()
		must(t, w.Write(record(keyOf(partition, len(w.(*writer).open)), strings.Repeat("v", largeRequest))))
		must(t, w.Flush())
	}
	connected := func() bool {
		txns.mu.Lock()
		defer txns.mu.Unlock()
		for _, b := range txns.brokers {
			return b.second.Load() != nil
		}
		return false
	}
	before := int64(0) // so many are written until there are two connections
	for ; !connected(); before++ {
		write(int(before) % 4)
		for txns.Stats().Records <= before {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				t.Fatal("not acknowledged")
			}
		}
	}
	held, release := make(chan struct{}), make(chan struct{})
	var asked atomic.Bool
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if !asked.Swap(true) {
			holdUntil(c, release, func() { close(held) })
		}
		return nil, nil, false
	})
	write(0)
	<-held
	write(1)
	for txns.Stats().Records == before {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the second request waits for the first")
		}
	}
	close(release)
	must(t, w.Barrier(1))
	must(t, complete(ctx, txns, 1))
	if n := int64(len(committed(t, config.Client, "out"))); n != before+2 {
		t.Errorf("%d records were committed, want %d", n, before+2)
	}
}

// keyOf is a key of a partition.
func keyOf(partition, partitions int) string {
	for i := 0; ; i++ {
		if key := strconv.Itoa(i); int(partitionOf([]byte(key), partitions)) == partition {
			return key
		}
	}
}

// Rule 6: a commit is one if the broker says so. Fenced after everything else was in the transaction, it is none.
func TestACommitThatIsAnsweredByAFencingIsNone(t *testing.T) {
	for _, version := range []int16{2, 0} {
		cl := newClient(t, newCluster(t))
		setVersion(t, cl, version)
		ctx := testContext(t)
		log, first := logAndTransactions(t, cl, LogConfig{})
		_, err := first.WritePointer(ctx, 1, []byte("of the first"))
		must(t, err)
		must(t, first.CommitOffsets(ctx, 1, nil))
		fencedAttempt(t, cl, log)
		var unknown *UnknownOutcomeError
		var fenced *FencedError
		// The cluster in memory looks at the transaction first from version 2 on, and says INVALID_TXN_STATE.
		if err := first.Commit(ctx, 1); !errors.As(err, &unknown) || version < 2 && !errors.As(err, &fenced) {
			t.Errorf("transaction.version %d: %v", version, err)
		}
		if err := first.Err(); err == nil {
			t.Errorf("transaction.version %d: the attempt goes on", version)
		}
		if last, err := log.Last(ctx); err != nil || last != nil {
			t.Errorf("transaction.version %d: the last pointer is %v, %v", version, last, err)
		}
	}
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
				holdUntil(c, release, func() {})
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

// Rule 12: a request names its topic by ID, so that one that was made again on the same broker does not take what was meant
// for the other.
func TestATopicThatIsMadeAgainWhereItWasIsNotWrittenTo(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	must(t, c.CreateTopic("again", 1, nil))
	cl := newClient(t, c)
	txns := newTransactions(t, testConfig(cl))
	w := startWriting(t, txns, "again")
	must(t, c.DeleteTopic("again"))
	must(t, c.CreateTopic("again", 1, nil))
	must(t, w.Write(record("k", "v")))
	must(t, w.Barrier(1))
	err := txns.Flush(testContext(t), 1)
	if err == nil || err.Error() != "topic again: it was deleted and made again while it was written to" {
		t.Errorf("error %v", err)
	}
	if got := readTopic(t, cl, "again", kgo.ReadUncommitted()); len(got) != 0 {
		t.Errorf("%d records were written", len(got))
	}
}

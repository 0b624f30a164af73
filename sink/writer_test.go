package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/stream"
)

// noise does not compress.
func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.IntN(256))
	}
	return b
}

func startWriting(t testing.TB, txns *KafkaTransactions, topic string) Writer {
	t.Helper()
	ctx := testContext(t)
	must(t, txns.Fence(ctx))
	txns.Begin(1)
	w, err := txns.Writer(ctx, topic)
	must(t, err)
	return w
}

func TestARecordThatDoesNotFitIsRefusedAndTheOthersGoOn(t *testing.T) {
	c := newCluster(t)
	must(t, c.CreateTopic("small", 1, map[string]string{"max.message.bytes": "5000"}))
	cl := newClient(t, c)
	txns := newTransactions(t, testConfig(cl))
	w := startWriting(t, txns, "small")
	refused := 0
	for _, r := range []*stream.Record{
		{Key: []byte("k"), Value: noise(6000)}, // the first of a batch
		{Key: []byte("k"), Value: []byte("a")},
		{Key: []byte("k"), Value: noise(6000)},                       // after another
		{Key: []byte("k"), Value: bytes.Repeat([]byte("b"), 50_000)}, // large, but not once compressed
		{Key: []byte("k"), Value: noise(4500)},
		{Key: nil, Value: noise(4500)},
		{Key: []byte("k"), Value: []byte("c")},
	} {
		err := w.Write(r)
		var tooLarge *TooLargeError
		switch {
		case errors.As(err, &tooLarge):
			refused++
			if tooLarge.Size < 6000 || tooLarge.Compressed < 6000 || tooLarge.Max != 5000 || tooLarge.Topic != "small" {
				t.Errorf("%+v", tooLarge)
			}
		default:
			must(t, err)
		}
	}
	must(t, w.Barrier(1))
	must(t, complete(testContext(t), txns, 1))
	var sizes []int
	for _, r := range committed(t, cl, "small") {
		sizes = append(sizes, len(r.Value))
	}
	if refused != 2 || fmt.Sprint(sizes) != "[1 50000 4500 4500 1]" {
		t.Errorf("%d refused, sizes %v", refused, sizes)
	}
}

// Where brokers undo the compression, a record must fit without it: they would refuse it in every attempt.
func TestARecordThatFitsOnlyCompressedIsRefusedIfTheBrokersUndoThat(t *testing.T) {
	for _, c := range []struct {
		topics string
		fits   bool
	}{{"producer", true}, {"snappy", true}, {"uncompressed", false}, {"gzip", false}} {
		t.Run(c.topics, func(t *testing.T) {
			fake := newCluster(t)
			must(t, fake.CreateTopic("small", 1, map[string]string{"max.message.bytes": "5000", "compression.type": c.topics}))
			w := startWriting(t, newTransactions(t, testConfig(newClient(t, fake))), "small")
			err := w.Write(&stream.Record{Key: []byte("k"), Value: bytes.Repeat([]byte("b"), 50_000)})
			var tooLarge *TooLargeError
			if errors.As(err, &tooLarge) == c.fits {
				t.Errorf("got %v", err)
			}
			must(t, w.Write(&stream.Record{Key: []byte("k"), Value: noise(4500)}))
		})
	}
}

// Records without a key fill one batch after the other, and all partitions in turn.
func TestRecordsWithoutAKeyFillPartitionsInTurn(t *testing.T) {
	cl := newClient(t, newCluster(t))
	c := testConfig(cl)
	c.MaxBatchBytes = 2000
	txns := newTransactions(t, c)
	w := startWriting(t, txns, "out")
	for range 80 {
		must(t, w.Write(&stream.Record{Value: noise(100)}))
	}
	must(t, w.Barrier(1))
	must(t, complete(testContext(t), txns, 1))
	counts := map[int32]int{}
	for _, r := range committed(t, cl, "out") {
		counts[r.Partition]++
	}
	for p := range int32(4) {
		if counts[p] < 17 || counts[p] > 40 {
			t.Errorf("records per partition: %v", counts)
		}
	}
}

// A broker that does not answer makes writing block, and go on when it does.
func TestWritingBlocksWhileTooMuchIsUnacknowledged(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	cl := newClient(t, c)
	conf := testConfig(cl)
	conf.MaxBuffered, conf.MaxBatchBytes = 1<<16, 1<<14
	txns := newTransactions(t, conf)
	w := startWriting(t, txns, "out")
	release := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		select {
		case <-release:
		case <-time.After(15 * time.Second):
		}
		return nil, nil, false
	})
	const records = 500
	var written atomic.Int64
	done := make(chan error, 1)
	go func() {
		for i := range records {
			if err := w.Write(&stream.Record{Key: fmt.Appendf(nil, "%d", i), Value: noise(1000)}); err != nil {
				done <- err
				return
			}
			written.Add(1)
		}
		done <- w.Barrier(1)
	}()
	waitFor(t, func() bool { return txns.Stats().Buffered >= conf.MaxBuffered })
	if n := written.Load(); n > 200 {
		t.Errorf("%d records written with room for 64", n)
	}
	close(release)
	must(t, <-done)
	must(t, complete(testContext(t), txns, 1))
	if got := len(committed(t, cl, "out")); got != records {
		t.Errorf("%d records, want %d", got, records)
	}
	if s := txns.Stats(); s.Records != records+1 || s.Buffered != 0 {
		t.Errorf("stats %+v", s)
	}
}

func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	deadline := time.After(15 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline:
			t.Fatal("it does not happen")
		case <-tick.C:
		}
	}
}

func TestABlockedWriterLearnsOfTheEnd(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	conf := testConfig(newClient(t, c))
	conf.MaxBuffered, conf.MaxBatchBytes, conf.RequestTimeout = 1<<16, 1<<14, 300*time.Millisecond
	txns := newTransactions(t, conf)
	w := startWriting(t, txns, "out")
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	var err error
	for err == nil {
		err = w.Write(&stream.Record{Value: noise(1000)})
	}
	if !errors.Is(err, kerr.NotEnoughReplicas) || !strings.Contains(err.Error(), "not acknowledged within 300ms") {
		t.Errorf("error %v", err)
	}
	<-txns.Failed()
	if ferr := txns.Flush(testContext(t), 1); ferr == nil || ferr.Error() != err.Error() {
		t.Errorf("flush: %v, want %v", ferr, err)
	}
}

// The leaders of all partitions move again and again while they are written to.
func TestOrderIsKeptWhileLeadersMove(t *testing.T) {
	for _, version := range []int16{2, 0} {
		c := newCluster(t, kfake.NumBrokers(3))
		cl := newClient(t, c)
		setVersion(t, cl, version)
		conf := testConfig(cl)
		conf.MaxBatchBytes = 1024
		txns := newTransactions(t, conf)
		w := startWriting(t, txns, "out")
		ctx := testContext(t)
		n := 0
		for checkpoint := int64(1); checkpoint <= 6; checkpoint++ {
			for i := range 400 {
				must(t, w.Write(record(fmt.Sprintf("k%d", n%7), fmt.Sprint(n))))
				n++
				if i%100 == 0 {
					c.ShufflePartitionLeaders()
				}
			}
			must(t, w.Barrier(checkpoint))
			must(t, complete(ctx, txns, checkpoint))
		}
		last := map[string]int{}
		got := committed(t, cl, "out")
		for _, r := range got {
			var v int
			fmt.Sscan(string(r.Value), &v)
			if before, ok := last[string(r.Key)]; ok && v != before+7 {
				t.Fatalf("transaction.version %d: key %s: %d follows %d", version, r.Key, v, before)
			}
			last[string(r.Key)] = v
		}
		if len(got) != n {
			t.Errorf("transaction.version %d: %d records, want %d", version, len(got), n)
		}
	}
}

func TestATopicThatIsMadeAgainIsNotWrittenTo(t *testing.T) {
	c := newCluster(t)
	must(t, c.CreateTopic("again", 1, nil))
	txns := newTransactions(t, testConfig(newClient(t, c)))
	w := startWriting(t, txns, "again")
	must(t, c.DeleteTopic("again"))
	must(t, c.CreateTopic("again", 1, nil))
	must(t, w.Write(record("k", "v")))
	must(t, w.Barrier(1))
	err := txns.Flush(testContext(t), 1)
	if err == nil || err.Error() != "topic again: it was deleted and made again while it was written to" {
		t.Errorf("error %v", err)
	}
}

func TestABarrierOfAnotherCheckpointEndsTheAttempt(t *testing.T) {
	txns := newTransactions(t, testConfig(newClient(t, newCluster(t))))
	w := startWriting(t, txns, "out")
	must(t, w.Write(record("k", "v")))
	if err := w.Barrier(2); err == nil || err.Error() != "topic out: barrier 2 while checkpoint 1 is written" {
		t.Errorf("error %v", err)
	}
	<-txns.Failed()
}

// With several checkpoints in flight a slot is free again only after its commit.
func TestMoreCheckpointsThanSlotsAreRefused(t *testing.T) {
	txns := newTransactions(t, testConfig(newClient(t, newCluster(t))))
	w := startWriting(t, txns, "out")
	for checkpoint := int64(1); checkpoint <= Slots; checkpoint++ {
		must(t, w.Write(record("k", "v")))
		must(t, w.Barrier(checkpoint))
	}
	must(t, w.Write(record("k", "v")))
	err := w.Barrier(Slots + 1)
	if err == nil || err.Error() != "transaction weir.job.0.1: checkpoint 5 wants it while checkpoint 1 is not committed" {
		t.Errorf("error %v", err)
	}
}

// Two attempts of one process in a row leave nothing behind; neither does one that is cut off.
func TestCloseEndsWhatIsRunning(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	txns := newTransactions(t, testConfig(newClient(t, c)))
	w := startWriting(t, txns, "out")
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: -1})
	must(t, w.Write(record("k", "v")))
	must(t, w.Barrier(1))
	ctx, cancel := context.WithCancel(context.Background())
	flushed := make(chan error, 1)
	go func() { flushed <- txns.Flush(ctx, 1) }()
	waitFor(t, func() bool { return txns.Stats().Requests > 2 })
	txns.Close()
	if err := <-flushed; !errors.Is(err, errClosed) {
		t.Errorf("flush: %v", err)
	}
	cancel()
	if err := w.Write(record("k", "v")); !errors.Is(err, errClosed) {
		t.Errorf("write: %v", err)
	}
}

// Early in each checkpoint all that is open is sent once, so that its partitions are in the transaction before its barrier; the rest
// waits for more.
func TestTheFirstRecordsOfACheckpointAreSentEarly(t *testing.T) {
	const partitions = 3
	c := newCluster(t)
	must(t, c.CreateTopic("early", partitions, nil))
	cl := newClient(t, c)
	txns := newTransactions(t, testConfig(cl))
	w := startWriting(t, txns, "early")
	batches := int64(0)
	for checkpoint := int64(1); checkpoint < 4; checkpoint++ {
		for i := range partitions {
			must(t, w.Write(&stream.Record{Key: []byte(keyOf(i, partitions)), Value: noise(firstBytes / 8)}))
		}
		must(t, w.Write(&stream.Record{Key: []byte(keyOf(0, partitions)), Value: noise(firstBytes)}))
		batches += partitions
		waitFor(t, func() bool { return txns.Stats().Batches == batches })
		must(t, w.Write(record(keyOf(1, partitions), "small")))
		must(t, w.Write(&stream.Record{Key: []byte(keyOf(1, partitions)), Value: noise(firstBytes)})) // not a second time
		must(t, w.Flush())
		batches++
		waitFor(t, func() bool { return txns.Stats().Batches == batches })
		must(t, w.Barrier(checkpoint))
		txns.Begin(checkpoint + 1)
		must(t, complete(testContext(t), txns, checkpoint))
		batches = txns.Stats().Batches
	}
}

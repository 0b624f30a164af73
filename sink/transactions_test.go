package sink

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Every record once, in order per key, and nothing before the commit: over several partitions, checkpoints and slots.
func TestACommittedReaderSeesEachRecordOnceInOrder(t *testing.T) {
	for _, version := range []int16{2, 0} {
		t.Run(fmt.Sprintf("transaction.version %d", version), func(t *testing.T) {
			cl := newClient(t, newCluster(t))
			setVersion(t, cl, version)
			ctx := testContext(t)
			txns := newTransactions(t, testConfig(cl))
			must(t, txns.Fence(ctx))
			if txns.TransactionVersion() != int(version) {
				t.Fatalf("transaction.version %d, want %d", txns.TransactionVersion(), version)
			}
			txns.Begin(1)
			w, err := txns.Writer(ctx, "out")
			must(t, err)
			const keys = 10
			n := 0
			for checkpoint := int64(1); checkpoint <= 9; checkpoint++ {
				for range 100 {
					must(t, w.Write(record(fmt.Sprintf("k%d", n%keys), fmt.Sprint(n))))
					n++
				}
				must(t, w.Barrier(checkpoint))
				must(t, w.Write(record(fmt.Sprintf("k%d", n%keys), fmt.Sprint(n)))) // of the next, before this is committed
				n++
				must(t, w.Flush())
				must(t, complete(ctx, txns, checkpoint))
				// Flush of the next comes only with its own barrier.
			}
			last := map[string]int{}
			seen := 0
			for _, r := range committed(t, cl, "out") {
				var v int
				fmt.Sscan(string(r.Value), &v)
				if before, ok := last[string(r.Key)]; ok && v != before+keys {
					t.Errorf("key %s: %d follows %d", r.Key, v, before)
				}
				last[string(r.Key)] = v
				seen++
			}
			if seen != n-1 {
				t.Errorf("%d records are visible, want %d", seen, n-1)
			}
			if got := len(committed(t, cl, checkpoints)); got != 9 {
				t.Errorf("%d pointers, want 9", got)
			}
		})
	}
}

func TestASecondAttemptFencesTheFirst(t *testing.T) {
	for _, version := range []int16{2, 0} {
		t.Run(fmt.Sprintf("transaction.version %d", version), func(t *testing.T) {
			cl := newClient(t, newCluster(t))
			setVersion(t, cl, version)
			ctx := testContext(t)
			first := newTransactions(t, testConfig(cl))
			must(t, first.Fence(ctx))
			first.Begin(1)
			w, err := first.Writer(ctx, "out")
			must(t, err)
			must(t, w.Write(record("a", "of the first")))
			must(t, w.Barrier(1))
			must(t, first.Flush(ctx, 1))

			second := newTransactions(t, testConfig(cl))
			must(t, second.Fence(ctx))
			must(t, complete(ctx, second, 1))

			var fenced *FencedError
			err = complete(ctx, first, 1)
			if !errors.As(err, &fenced) || fenced.Transaction != "weir.job.0.1" {
				t.Errorf("error %v, want fenced", err)
			}
			<-first.Failed()
			if err := w.Write(record("a", "too late")); !errors.As(err, &fenced) {
				t.Errorf("write after the end: %v", err)
			}
			if got := committed(t, cl, "out"); len(got) != 0 {
				t.Errorf("%d records of the fenced attempt are visible", len(got))
			}
			if got := committed(t, cl, checkpoints); len(got) != 1 || string(got[0].Value) != "pointer 1" || string(got[0].Key) != "1" {
				t.Errorf("pointers %v", got)
			}
		})
	}
}

func TestAtLeastOnceIsVisibleAtOnceAndThePointerIsNot(t *testing.T) {
	cl := newClient(t, newCluster(t))
	ctx := testContext(t)
	c := testConfig(cl)
	c.Mode = AtLeastOnce
	txns := newTransactions(t, c)
	must(t, txns.Fence(ctx))
	txns.Begin(1)
	w, err := txns.Writer(ctx, "out")
	must(t, err)
	must(t, w.Write(record("a", "1")))
	must(t, w.Flush())
	must(t, txns.Flush(ctx, 1))
	if got := committed(t, cl, "out"); len(got) != 1 {
		t.Errorf("%d records are visible, want 1", len(got))
	}
	if txns.OldestOpen() != 0 {
		t.Errorf("a transaction is open without a record in it")
	}
	must(t, w.Barrier(1))
	_, err = txns.WritePointer(ctx, 1, []byte("p"))
	must(t, err)
	if got := committed(t, cl, checkpoints); len(got) != 0 {
		t.Errorf("the pointer is visible before the commit")
	}
	if txns.OldestOpen() == 0 {
		t.Errorf("no transaction is open with the pointer in it")
	}
	must(t, txns.Commit(ctx, 1))
	if got := committed(t, cl, checkpoints); len(got) != 1 {
		t.Errorf("%d pointers, want 1", len(got))
	}
}

func TestTheEngineIsToldOfItsMistakes(t *testing.T) {
	cl := newClient(t, newCluster(t))
	ctx := testContext(t)
	txns := newTransactions(t, testConfig(cl))
	must(t, txns.Fence(ctx))
	if err := txns.Commit(ctx, 1); err == nil || err.Error() != "transaction weir.job.0.1: checkpoint 1 has no pointer yet" {
		t.Errorf("commit without a pointer: %v", err)
	}
	must(t, complete(ctx, txns, 1))
	_, err := txns.WritePointer(ctx, 3, nil)
	must(t, err)
	if err := txns.Commit(ctx, 3); err == nil || err.Error() != "transaction weir.job.0.3: checkpoint 3 cannot be committed after 1" {
		t.Errorf("commit out of order: %v", err)
	}
}

func TestHeadersTimestampsAndNullsPassThrough(t *testing.T) {
	cl := newClient(t, newCluster(t))
	ctx := testContext(t)
	for i, compression := range Compressions {
		c := testConfig(cl)
		c.Compression, c.Job = compression, "job"+fmt.Sprint(i)
		txns := newTransactions(t, c)
		must(t, txns.Fence(ctx))
		txns.Begin(1)
		w, err := txns.Writer(ctx, "out")
		must(t, err)
		for _, r := range variedRecords() {
			must(t, w.Write(&r))
		}
		must(t, w.Barrier(1))
		must(t, complete(ctx, txns, 1))
	}
	got := committed(t, cl, "out")
	if want := len(Compressions) * len(variedRecords()); len(got) != want {
		t.Fatalf("%d records, want %d", len(got), want)
	}
	counts := map[string]int{}
	for _, r := range got {
		counts[describe(r)]++
	}
	for _, r := range variedRecords() {
		k := &kgo.Record{Key: r.Key, Value: r.Value}
		k.Timestamp = timeOf(r.Timestamp)
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		if counts[describe(k)] != len(Compressions) {
			t.Errorf("%s: seen %d times", describe(k), counts[describe(k)])
		}
	}
}

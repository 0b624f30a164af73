package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The requests of a transaction's life, by key.
var transactionKeys = []int16{0, 10, 22, 24, 25, 26, 28}

const (
	sweepCheckpoints = 5
	perCheckpoint    = 12
)

// sweepAttempt does what an attempt does: it takes over, goes on after the last pointer, and runs to the end or to an error.
func sweepAttempt(ctx context.Context, cl *kgo.Client, log *PointerLog) error {
	c := testConfig(cl)
	c.CheckpointTopic = log.Topic()
	txns, err := NewTransactions(ctx, c)
	if err != nil {
		return err
	}
	defer txns.Close()
	if err := txns.Fence(ctx); err != nil {
		return err
	}
	last, err := log.Last(ctx)
	if err != nil {
		return err
	}
	next := int64(1)
	if last != nil {
		n, err := strconv.ParseInt(string(last.Key), 10, 64)
		if err != nil {
			return err
		}
		next = n + 1
	}
	txns.Begin(next)
	w, err := txns.Writer(ctx, "out")
	if err != nil {
		return err
	}
	for ; next <= sweepCheckpoints; next++ {
		for i := range perCheckpoint {
			if err := w.Write(record(fmt.Sprintf("k%d", i%5), fmt.Sprintf("%d", int(next)*100+i))); err != nil {
				return err
			}
			if i == perCheckpoint/2 {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		if err := w.Barrier(next); err != nil {
			return err
		}
		if err := complete(ctx, txns, next); err != nil {
			return err
		}
	}
	return nil
}

// exact checks that a committed reader sees the records of checkpoints 1 to last, each once and in order per key.
func exact(t *testing.T, cl *kgo.Client, last int64) {
	t.Helper()
	got := map[string][]int{}
	for _, r := range committed(t, cl, "out") {
		v, err := strconv.Atoi(string(r.Value))
		must(t, err)
		got[string(r.Key)] = append(got[string(r.Key)], v)
	}
	want := map[string][]int{}
	for checkpoint := 1; checkpoint <= int(last); checkpoint++ {
		for i := range perCheckpoint {
			key := fmt.Sprintf("k%d", i%5)
			want[key] = append(want[key], checkpoint*100+i)
		}
	}
	for i := range 5 {
		key := fmt.Sprintf("k%d", i)
		if !slices.Equal(got[key], want[key]) {
			t.Fatalf("key %s has %v, want %v", key, got[key], want[key])
		}
	}
}

// sweep runs an attempt with a fault at request 0, 1, 2 ... until a run is untouched. After each, everything that the last
// pointer says is visible and nothing else, and a second attempt brings the job to its end.
func sweep(t *testing.T, version int16, faulty func(t *testing.T, c *kfake.Cluster, n int) (attempt *kgo.Client, hit func() bool)) {
	var failed int
	for n := 0; ; n++ {
		if n > 300 {
			t.Fatal("the sweep does not end")
		}
		c := newCluster(t)
		cl := newClient(t, c)
		setVersion(t, cl, version)
		ctx := testContext(t)
		log := newLog(t, cl, LogConfig{})
		must(t, log.Ensure(ctx))
		attempt, hit := faulty(t, c, n)
		err := sweepAttempt(ctx, attempt, log)
		touched := hit()
		attempt.Close()
		if err != nil {
			failed++
			t.Logf("%d: %v", n, err)
		}
		// As recovery does: fence first, then everything is decided.
		fencedAttempt(t, cl, log).Close()
		last, lerr := log.Last(ctx)
		must(t, lerr)
		at := int64(0)
		if last != nil {
			at, _ = strconv.ParseInt(string(last.Key), 10, 64)
		}
		if err == nil && at != sweepCheckpoints {
			t.Fatalf("request %d: no error, and the last pointer is %d", n, at)
		}
		exact(t, cl, at)
		must(t, sweepAttempt(ctx, cl, log))
		exact(t, cl, sweepCheckpoints)
		c.Close()
		if !touched {
			t.Logf("%d requests, %d ended the attempt", n, failed)
			return
		}
	}
}

func TestALostRequestOrAnswerLosesAndDoublesNothing(t *testing.T) {
	for _, version := range []int16{2, 0} {
		for _, afterwards := range []bool{false, true} {
			t.Run(fmt.Sprintf("transaction.version %d, answer lost %v", version, afterwards), func(t *testing.T) {
				t.Parallel()
				sweep(t, version, func(t *testing.T, c *kfake.Cluster, n int) (*kgo.Client, func() bool) {
					f := &faultyNet{keys: transactionKeys, at: int64(n), afterwards: afterwards}
					return newClient(t, c, f.option()), f.hit.Load
				})
			})
		}
	}
}

func TestAnErrorAnswerLosesAndDoublesNothing(t *testing.T) {
	for _, version := range []int16{2, 0} {
		answers := []*kerr.Error{kerr.ConcurrentTransactions}
		if version == 2 {
			answers = []*kerr.Error{kerr.UnknownServerError, kerr.NotCoordinator}
		}
		for _, answer := range answers {
			t.Run(fmt.Sprintf("transaction.version %d, %s", version, answer.Message), func(t *testing.T) {
				t.Parallel()
				sweep(t, version, func(t *testing.T, c *kfake.Cluster, n int) (*kgo.Client, func() bool) {
					var keys []kmsg.Key
					for _, k := range transactionKeys {
						keys = append(keys, kmsg.Key(k))
					}
					var seen atomic.Int64
					h := c.Fault(kfake.Fault{Keys: keys, Err: answer, When: func(kmsg.Request) bool { return seen.Add(1)-1 == int64(n) }})
					return newClient(t, c), func() bool { defer h.Remove(); return h.Hits() > 0 }
				})
			})
		}
	}
}

// Whether a commit whose answer is lost has happened, only recovery tells.
func TestALostAnswerToACommitIsAnUnknownOutcome(t *testing.T) {
	for _, happened := range []bool{false, true} {
		c := newCluster(t)
		ctx := testContext(t)
		cl := newClient(t, c)
		f := &faultyNet{keys: []int16{26}, afterwards: happened}
		log, txns := logAndTransactions(t, newClient(t, c, f.option()), LogConfig{})
		err := complete(ctx, txns, 1)
		var unknown *UnknownOutcomeError
		if !errors.As(err, &unknown) || unknown.Checkpoint != 1 || unknown.Transaction != "weir.job.0.1" {
			t.Fatalf("error %v", err)
		}
		if f.seen.Load() != 1 {
			t.Errorf("the commit was sent %d times", f.seen.Load())
		}
		must(t, fencedAttempt(t, cl, log).Err())
		last, err := log.Last(ctx)
		must(t, err)
		if (last != nil) != happened {
			t.Errorf("committed %v, want %v", last != nil, happened)
		}
	}
}

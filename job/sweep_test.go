package job_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/runtime"
)

// TestAnyRequestMayFail lets the n-th request to the broker fail, for n = 0, 1, 2 ... until a run is untouched: the
// connection breaks before the broker sees it. The output is exact each time.
func TestAnyRequestMayFail(t *testing.T) {
	const records = 400
	c := newCluster(t, "in")
	c.feed("in", 0, records, 7)
	errCut := errors.New("cut")
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := int64(0); ; n += int64(step) {
		out := fmt.Sprint("out-", n)
		c.create(out)
		var seen atomic.Int64
		var cut atomic.Bool
		o := c.options(10 * time.Millisecond)
		o.Checkpoint.Group, o.Checkpoint.Prefix = out, out
		o.Checkpoint.Restart.InitialBackoff = time.Millisecond
		c.fake.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.fake.KeepControl()
			if cut.Load() || !relevant(req) {
				return nil, nil, false
			}
			if seen.Add(1)-1 == n {
				cut.Store(true)
				return nil, errCut, true
			}
			return nil, nil, false
		})
		g := sumsTo(1, out)
		j := start(t, g, o)
		want := wantSums(records, 7)
		eventually(t, fmt.Sprintf("all results though request %d failed", n), func() bool {
			select {
			case err := <-j.done:
				if cut.Load() && !j.Ran() {
					j = start(t, sumsTo(1, out), o) // it failed to start, and said so: a supervisor starts it again
					return false
				}
				t.Fatalf("request %d failed: the job ended: %v", n, err)
			default:
			}
			return j.Status().Phase == runtime.Running && diff(c.read(out), want) == nil
		})
		j.stop()
		if err := diff(c.read(out), want); err != nil {
			t.Fatalf("request %d failed: %v", n, err)
		}
		if !cut.Load() {
			t.Logf("%d requests", seen.Load())
			return
		}
	}
}

// relevant says which requests are those of the protocol, and not the test's own.
func relevant(req kmsg.Request) bool {
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		return req.TransactionID != nil
	case *kmsg.InitProducerIDRequest:
		return req.TransactionalID != nil
	case *kmsg.AddPartitionsToTxnRequest, *kmsg.AddOffsetsToTxnRequest, *kmsg.TxnOffsetCommitRequest, *kmsg.EndTxnRequest,
		*kmsg.OffsetFetchRequest, *kmsg.OffsetForLeaderEpochRequest, *kmsg.FindCoordinatorRequest:
		return true
	}
	return false
}

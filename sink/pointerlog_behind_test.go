package sink

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// behind lets the brokers answer the next n fetches as a node does that has not got as far as the offset: with an error, or
// with nothing. It returns how many are left.
func behind(c *kfake.Cluster, n int32, code int16) *atomic.Int32 {
	var left atomic.Int32
	left.Store(n)
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if left.Add(-1) < 0 {
			return nil, nil, false
		}
		req := r.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode = req.Topics[0].Partitions[0].Partition, code
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	return &left
}

// A node that lags behind, or leads no more, has not said that a record is not there.
func TestAnOffsetThatANodeHasNotReachedIsAskedForAgain(t *testing.T) {
	for what, code := range map[string]int16{"out of range": kerr.OffsetOutOfRange.Code, "an empty answer": 0} {
		t.Run(what, func(t *testing.T) {
			c := newCluster(t)
			ctx := testContext(t)
			log, txns := logAndTransactions(t, newClient(t, c), LogConfig{})
			must(t, complete(ctx, txns, 1))
			last, err := log.Last(ctx)
			must(t, err)
			left := behind(c, 3, code)
			got, err := log.At(ctx, last.Offset)
			if err != nil || string(got.Value) != "pointer 1" {
				t.Errorf("at %d: %v, %v", last.Offset, got, err)
			}
			if left.Load() > 0 {
				t.Error("no answer was behind")
			}
			left.Store(3)
			if pointers, err := log.List(ctx, 5); err != nil || len(pointers) != 1 {
				t.Errorf("list %v, %v", pointers, err)
			}
		})
	}
}

// What the log has deleted, and what it has passed, is not there; what it has not reached by the timeout is not known.
func TestOnlyWhatIsDeletedOrPassedIsNoRecord(t *testing.T) {
	c := newCluster(t)
	ctx := testContext(t)
	log, txns := logAndTransactions(t, newClient(t, c), LogConfig{Timeout: 400 * time.Millisecond})
	must(t, complete(ctx, txns, 1))
	must(t, complete(ctx, txns, 2))
	last, err := log.Last(ctx)
	must(t, err)
	must(t, log.DeleteBefore(ctx, last.Offset))
	for what, offset := range map[string]int64{"deleted": 0, "a marker": last.Offset + 1} {
		if _, err := log.At(ctx, offset); !errors.Is(err, ErrNoRecord) {
			t.Errorf("%s: %v, want no record", what, err)
		}
	}
	for what, offset := range map[string]int64{"the end": last.Offset + 2, "beyond the end": last.Offset + 100} {
		_, err := log.At(ctx, offset)
		want := fmt.Sprintf("checkpoint topic weir.job.log partition 0: reading at offset %d: ", offset)
		if err == nil || errors.Is(err, ErrNoRecord) || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: %v, want %s...", what, err, want)
		}
	}
}

// A recovery reads from behind the last pointer that it knows to its own, which is open: what others have committed between,
// and neither what was aborted nor its own.
func TestSinceIsWhatIsCommittedBeforeOnesOwnPointer(t *testing.T) {
	c := newCluster(t)
	cl := newClient(t, c)
	ctx := testContext(t)
	log, txns := logAndTransactions(t, cl, LogConfig{})
	since := func(from, to int64) string {
		t.Helper()
		found, err := log.Since(ctx, from, to)
		must(t, err)
		s := ""
		for _, p := range found {
			s += string(p.Key) + " "
		}
		return s
	}
	must(t, complete(ctx, txns, 1))
	one, err := log.Last(ctx)
	must(t, err)
	must(t, complete(ctx, txns, 2))
	_, err = txns.WritePointer(ctx, 3, []byte("aborted by the next attempt"))
	must(t, err)
	txns.Close()
	txns = fencedAttempt(t, cl, log)
	own, err := txns.WritePointer(ctx, 3, []byte("own"))
	must(t, err)
	left := behind(c, 3, kerr.OffsetOutOfRange.Code)
	for from, want := range map[int64]string{0: "1 2 ", one.Offset: "1 2 ", one.Offset + 1: "2 ", own: ""} {
		if got := since(from, own); got != want {
			t.Errorf("since %d: %q, want %q", from, got, want)
		}
	}
	if left.Load() > 0 {
		t.Error("no answer was behind")
	}
}

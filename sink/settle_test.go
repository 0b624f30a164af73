package sink

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leaveUndecided lets the brokers say that a producer has a transaction on partition 2 of topic out, until one of its
// transactions ends. It returns what that end was: 1 for a commit, -1 for an abort.
func leaveUndecided(c *kfake.Cluster, producer int64, epoch int16) *atomic.Int32 {
	var ended atomic.Int32
	c.ControlKey(int16(kmsg.DescribeProducers), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if ended.Load() != 0 {
			return nil, nil, false
		}
		req := r.(*kmsg.DescribeProducersRequest)
		resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
		for _, topic := range req.Topics {
			rt := kmsg.NewDescribeProducersResponseTopic()
			rt.Topic = topic.Topic
			for _, p := range topic.Partitions {
				rp := kmsg.NewDescribeProducersResponseTopicPartition()
				rp.Partition = p
				if topic.Topic == "out" && p == 2 {
					a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
					a.ProducerID, a.ProducerEpoch, a.CurrentTxnStartOffset = producer, int32(epoch), 7
					rp.ActiveProducers = append(rp.ActiveProducers, a)
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	c.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if req := r.(*kmsg.EndTxnRequest); req.ProducerID == producer {
			if req.Commit {
				ended.Store(1)
			} else {
				ended.Store(-1)
			}
		}
		return nil, nil, false
	})
	c.ControlKey(int16(kmsg.WriteTxnMarkers), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := r.(*kmsg.WriteTxnMarkersRequest)
		resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
		for _, m := range req.Markers {
			rm := kmsg.NewWriteTxnMarkersResponseMarker()
			rm.ProducerID = m.ProducerID
			for _, topic := range m.Topics {
				rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
				rt.Topic = topic.Topic
				for _, p := range topic.Partitions {
					rp := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
					rp.Partition = p
					rt.Partitions = append(rt.Partitions, rp)
				}
				rm.Topics = append(rm.Topics, rt)
			}
			resp.Markers = append(resp.Markers, rm)
			if m.ProducerID == producer && m.Committed && m.ProducerEpoch > epoch {
				ended.Store(1)
			}
		}
		return resp, nil, true
	})
	return &ended
}

// Nothing is guessed about a transaction that has no marker.
func TestHowATransactionEndedIsToldOrNot(t *testing.T) {
	committed, aborted := ending{known: true, producer: 5, epoch: 4, commit: true}, ending{known: true, producer: 5, epoch: 4}
	for _, c := range []struct {
		name          string
		before        ending
		version       int
		epoch         int16
		commit, known bool
	}{
		{"the last one, committed", committed, 2, 3, true, true},
		{"the last one, aborted", aborted, 2, 3, false, true},
		{"one before it", aborted, 2, 2, false, false},
		{"one that begins", committed, 2, 4, false, false},
		{"one that was open when it was asked", ending{}, 2, 3, false, false},
		{"another producer's", ending{known: true, producer: 6, epoch: 4, commit: true}, 2, 3, false, false},
		{"version 1, the attempt's last committed", committed, 1, 4, true, true},
		{"version 1, the attempt's last aborted", aborted, 1, 4, false, false},
		{"version 1, another attempt's", committed, 1, 3, false, false},
	} {
		if commit, known := c.before.tells(c.version, 5, c.epoch); known != c.known || known && commit != c.commit {
			t.Errorf("coordinator: %s: commit %t, known %t", c.name, commit, known)
		}
	}
	for _, c := range []struct {
		name          string
		trace         trace
		group         int64
		commit, known bool
	}{
		{"its marker is there", trace{pointer: true, marked: true, commit: true, checkpoint: 7}, -1, true, true},
		{"the marker of its abort is there", trace{pointer: true, marked: true, checkpoint: 7}, 7, false, true},
		{"no pointer was written", trace{complete: true}, -1, false, true},
		{"the pointer may have been deleted", trace{}, -1, false, false},
		{"the group is there", trace{pointer: true, checkpoint: 7}, 7, true, true},
		{"the group is beyond", trace{pointer: true, checkpoint: 7}, 9, true, true},
		{"the group is at the one before", trace{pointer: true, checkpoint: 7}, 6, false, true},
		{"the group has lost its offsets", trace{pointer: true, checkpoint: 7}, 0, false, false},
		{"the first checkpoint, before any offset", trace{pointer: true, checkpoint: 1}, 0, false, true},
		{"the group does not tell", trace{pointer: true, checkpoint: 7}, -1, false, false},
	} {
		if commit, known := c.trace.tells(c.group); known != c.known || known && commit != c.commit {
			t.Errorf("log: %s: commit %t, known %t", c.name, commit, known)
		}
	}
}

// What a coordinator ended without its markers is ended as it was, and not as the next transaction of the slot will be.
func TestAMissingMarkerIsWrittenAsTheTransactionEnded(t *testing.T) {
	for _, test := range []struct {
		name    string
		commit  bool // checkpoint 1 was committed; else it was open when its process died
		fencing int  // how many times somebody recovered since
		epoch   int16
		want    int32
	}{
		{name: "committed, says the coordinator", commit: true, fencing: 1, want: 1},
		{name: "open until the fencing", fencing: 1, want: -1},
		{name: "committed, says the pointer", commit: true, fencing: 2, want: 1},
		{name: "no pointer was written", commit: true, fencing: 2, epoch: 1, want: -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			cl := newClient(t, c)
			log, err := NewPointerLog(cl, LogConfig{Topic: checkpoints, Group: "job"})
			must(t, err)
			ctx := testContext(t)
			first := newTransactions(t, testConfig(cl))
			must(t, first.Fence(ctx))
			first.Begin(1)
			w, err := first.Writer(ctx, "out")
			must(t, err)
			must(t, w.Write(record("k", "v")))
			must(t, w.Barrier(1))
			epoch := first.slots[slotOf(1)].epoch + test.epoch
			if test.commit {
				must(t, complete(ctx, first, 1))
			} else {
				must(t, first.Flush(ctx, 1))
			}
			first.Close()

			var txns *KafkaTransactions
			for range test.fencing {
				txns = newTransactions(t, testConfig(cl))
				must(t, txns.Fence(ctx))
			}
			ended := leaveUndecided(c, txns.slots[slotOf(1)].producer, epoch)
			must(t, txns.Settle(ctx, log, []string{"out"}))
			if got := ended.Load(); got != test.want {
				t.Errorf("ended with %d, want %d (1 is a commit, -1 an abort)", got, test.want)
			}
		})
	}
}

// Where nothing tells how a transaction ended, nothing is guessed.
func TestAnUndecidedTransactionThatNobodyKnowsStopsTheRecovery(t *testing.T) {
	c := newCluster(t)
	cl := newClient(t, c)
	setVersion(t, cl, 1) // an epoch is that of many transactions
	log, err := NewPointerLog(cl, LogConfig{Topic: checkpoints, Group: "job"})
	must(t, err)
	ctx := testContext(t)
	txns := newTransactions(t, testConfig(cl))
	must(t, txns.Fence(ctx))
	ended := leaveUndecided(c, txns.slots[1].producer, 0)
	err = txns.Settle(ctx, log, []string{"out"})
	if err == nil || !strings.Contains(err.Error(), "topic out partition 2") {
		t.Errorf("error %v, want one that names the partition", err)
	}
	if ended.Load() != 0 {
		t.Error("it was ended all the same")
	}
}

// A marker may be on its way: only what is still undecided at the next look ends the attempt.
func TestAMarkerThatDoesNotComeEndsTheAttempt(t *testing.T) {
	c := newCluster(t)
	cl := newClient(t, c)
	ctx := testContext(t)
	txns := newTransactions(t, testConfig(cl))
	must(t, txns.Fence(ctx))
	txns.Begin(1)
	must(t, complete(ctx, txns, 1)) // the slot's epoch goes on
	leaveUndecided(c, txns.slots[slotOf(1)].producer, 0)
	must(t, txns.Unsettled(ctx, []string{"out"}))
	if err := txns.Unsettled(ctx, []string{"out"}); err == nil || !strings.Contains(err.Error(), "topic out partition 2") {
		t.Errorf("error %v, want one that names the partition", err)
	}
}

package txn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// errNoAnswer is what a broker's silence about a partition amounts to.
var errNoAnswer = errors.New("the broker did not answer for the partition")

// Fence takes a transactional ID over, as a start of its owner does: what is open is aborted, and the producer that had it
// is refused from now on. It returns when the abort is complete. timeout is what the ID's next transaction may take; its
// owner sets it anew. The context's deadline ends the wait.
func Fence(ctx context.Context, cl *kgo.Client, id string, timeout time.Duration) error {
	var backoff kafka.Backoff
	for {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID = &id
		req.TransactionTimeoutMillis = int32(timeout.Milliseconds())
		req.ProducerID, req.ProducerEpoch = -1, -1
		resp, err := req.RequestWith(ctx, cl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err == nil {
			return nil
		}
		again := kafka.IsRetriable(err) || errors.Is(err, kerr.ConcurrentTransactions)
		if !again || !backoff.Wait(ctx) {
			return fmt.Errorf("transaction %s: %w", id, err)
		}
	}
}

// Mark writes an abort marker for an open transaction into its partition, past its coordinator: the way to end one that
// hangs. It needs ClusterAction on the cluster. For one that its coordinator knows it would be wrong: other partitions of
// the transaction may yet be committed.
func Mark(ctx context.Context, cl *kgo.Client, o Open) error {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.Committed = o.Producer, o.Epoch, false
	// A leader that has never seen a marker of this producer says -1; the broker takes any epoch that is not below.
	m.CoordinatorEpoch = max(o.CoordinatorEpoch, 0)
	t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	t.Topic, t.Partitions = o.Topic, []int32{o.Partition.Partition}
	m.Topics = append(m.Topics, t)
	req.Markers = append(req.Markers, m)
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return fmt.Errorf("topic %s partition %d: %w", o.Topic, o.Partition.Partition, shard.Err)
		}
		answered := false
		for _, m := range shard.Resp.(*kmsg.WriteTxnMarkersResponse).Markers {
			for _, t := range m.Topics {
				for _, p := range t.Partitions {
					answered = true
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						return fmt.Errorf("topic %s partition %d: %w", o.Topic, p.Partition, err)
					}
				}
			}
		}
		if !answered {
			return fmt.Errorf("topic %s partition %d: %w", o.Topic, o.Partition.Partition, errNoAnswer)
		}
	}
	return nil
}

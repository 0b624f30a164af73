package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Taken reports whether another process has fenced this one: a slot that has no transaction open has another producer or
// epoch than ours. The brokers fence a slot by themselves only if its transaction times out, so a slot without one tells
// the two apart. With a transaction in every slot there is nothing to tell by: known is false. It may be called after
// Failed is closed, and before Close.
func (t *KafkaTransactions) Taken(ctx context.Context) (taken, known bool, err error) {
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	t.mu.Lock()
	var idle []identity
	for _, s := range t.slots {
		if s.checkpoint == 0 && s.began.IsZero() && s.fenced {
			idle = append(idle, s.identity())
		}
	}
	t.mu.Unlock()
	for _, id := range idle {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{id.name}
		err := t.call(ctx, coordinatorKey{transactionCoordinator, id.name}, req, func(r kmsg.Response) error {
			for _, s := range r.(*kmsg.DescribeTransactionsResponse).TransactionStates {
				err := kerr.ErrorForCode(s.ErrorCode)
				if errors.Is(err, kerr.TransactionalIDNotFound) {
					return nil // it has expired, or had no transaction yet: nobody has it
				}
				if err != nil {
					return err
				}
				taken = s.ProducerID != id.producer || s.ProducerEpoch != id.epoch
			}
			return nil
		})
		if err != nil {
			return false, false, fmt.Errorf("transaction %s: asking who has it: %w", id.name, err)
		}
		if taken {
			return true, true, nil
		}
	}
	return false, len(idle) > 0, nil
}

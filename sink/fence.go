package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/fault"
)

// Fence takes over every slot: it asks for a new producer epoch of each, which aborts what is open there and makes every
// older producer fail. It waits until that is done, at most for RequestTimeout. Beside it, it reads the cluster's
// transaction.version, on which depends what may be sent later.
func (t *KafkaTransactions) Fence(ctx context.Context) error {
	if err := t.Err(); err != nil {
		return err
	}
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, 1+Slots)
	// What is sent to fence is the same for every version.
	wg.Go(func() {
		features, err := t.cluster.Features(ctx)
		errs[0], t.version = err, features.TransactionVersion()
	})
	// The first commit will need it.
	t.spawn(func(ctx context.Context) {
		ctx, cancel := t.bounded(ctx)
		defer cancel()
		_, _ = t.coordinator(ctx, coordinatorKey{groupCoordinator, t.config.Group}) // it is asked for again if that fails
	})
	for i, s := range t.slots {
		wg.Go(func() {
			if err := t.initProducer(ctx, s); err != nil {
				errs[1+i] = inTransaction(s.name, err)
			}
			t.config.Fault.At(fault.SlotFenced)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *KafkaTransactions) initProducer(ctx context.Context, s *slot) error {
	t.mu.Lock()
	if s.checkpoint != 0 {
		t.mu.Unlock()
		return fmt.Errorf("fenced while checkpoint %d uses it", s.checkpoint)
	}
	t.mu.Unlock()
	before, err := t.describe(ctx, s)
	if err != nil {
		return fmt.Errorf("asking for its last transaction: %w", err)
	}
	s.before = before
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID = &s.name
	req.TransactionTimeoutMillis = int32(t.config.TransactionTimeout.Milliseconds())
	// No ID and no epoch of before: whoever asks so is always let in, and everybody else is out.
	req.ProducerID, req.ProducerEpoch = -1, -1
	return t.call(ctx, coordinatorKey{transactionCoordinator, s.name}, req, func(r kmsg.Response) error {
		resp := r.(*kmsg.InitProducerIDResponse)
		err := kerr.ErrorForCode(resp.ErrorCode)
		if errors.Is(err, kerr.InvalidTransactionTimeout) {
			return fmt.Errorf("the brokers do not take a transaction timeout of %s: it must not be longer than their transaction.max.timeout.ms: %w",
				t.config.TransactionTimeout, err)
		}
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		s.end()
		s.renew(resp.ProducerID, resp.ProducerEpoch)
		return nil
	})
}

// pause waits; false means that the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// addPartitions adds those partitions to a slot's transaction that are not in it yet, as transaction.version below 2 wants
// it before a record is sent. From 2 on the produce request does that by itself.
func (t *KafkaTransactions) addPartitions(ctx context.Context, id identity, parts []*partition) error {
	b := parts[0].head
	s := b.slot
	s.adding.Lock()
	defer s.adding.Unlock()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = id.name, id.producer, id.epoch
	slot := slotOf(b.checkpoint)
	var added []*partition
	t.mu.Lock()
	for _, p := range parts {
		if p.added[slot] == b.checkpoint {
			continue
		}
		added = append(added, p)
		i := len(req.Topics) - 1
		if i < 0 || req.Topics[i].Topic != p.topic.name {
			topic := kmsg.NewAddPartitionsToTxnRequestTopic()
			topic.Topic = p.topic.name
			req.Topics = append(req.Topics, topic)
			i++
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p.index)
	}
	t.mu.Unlock()
	if len(added) == 0 {
		return nil
	}
	req.Topics = mergeTopics(req.Topics)
	err := t.call(ctx, coordinatorKey{transactionCoordinator, id.name}, pinned{req, addPartitionsMax}, func(r kmsg.Response) error {
		var err error
		for _, topic := range r.(*kmsg.AddPartitionsToTxnResponse).Topics {
			for _, p := range topic.Partitions {
				// One bad partition makes the others "not attempted": what is wrong is its own error.
				if e := kerr.ErrorForCode(p.ErrorCode); e != nil && (err == nil || errors.Is(err, kerr.OperationNotAttempted)) {
					err = e
				}
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("adding partitions to the transaction: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range added {
		p.added[slot] = b.checkpoint
	}
	return nil
}

// mergeTopics puts the partitions of each topic together.
func mergeTopics(topics []kmsg.AddPartitionsToTxnRequestTopic) []kmsg.AddPartitionsToTxnRequestTopic {
	at := map[string]int{}
	merged := topics[:0]
	for _, topic := range topics {
		if i, ok := at[topic.Topic]; ok {
			merged[i].Partitions = append(merged[i].Partitions, topic.Partitions...)
			continue
		}
		at[topic.Topic] = len(merged)
		merged = append(merged, topic)
	}
	return merged
}

package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// OpenTransactionError says that a transaction is open on the checkpoint partition and does not end: nobody knows which
// pointer is the last before it does.
type OpenTransactionError struct {
	// LastStable is the offset of the transaction's first record; End is the end of the partition when it was asked for.
	LastStable, End int64
	// Producers describes who has a transaction open there.
	Producers []string
}

func (e *OpenTransactionError) Error() string {
	who := "of an unknown producer"
	if len(e.Producers) > 0 {
		who = "of " + strings.Join(e.Producers, ", ")
	}
	return fmt.Sprintf("an open transaction %s keeps the last stable offset at %d, and the end is %d: it ends by its timeout at the latest", who, e.LastStable, e.End)
}

const (
	latest   int64 = -1
	earliest int64 = -2

	everything    int8 = 0
	committedOnly int8 = 1
)

// waitStable takes the end of the partition and waits until everything below is decided. It returns the end. Both are asked for
// at once: if the last stable offset, whenever it is told, is not below the end, whenever that is told, everything below that end
// is decided.
func (l *PointerLog) waitStable(ctx context.Context) (int64, error) {
	var end int64
	var endErr error
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		end, endErr = l.offset(ctx, latest, everything)
	}()
	var backoff kafka.Backoff
	for {
		stable, err := l.offset(ctx, latest, committedOnly)
		if <-asked; endErr != nil {
			return 0, endErr
		}
		if err != nil {
			return 0, err
		}
		if stable >= end {
			return end, nil
		}
		if !l.again(ctx, &backoff) {
			return 0, &OpenTransactionError{LastStable: stable, End: end, Producers: l.openProducers(ctx)}
		}
	}
}

// offset asks for the earliest or the latest offset of the partition.
func (l *PointerLog) offset(ctx context.Context, which int64, isolation int8) (offset int64, err error) {
	err = l.withLeader(ctx, func(ctx context.Context, leader *kgo.Broker, _ [16]byte) error {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID, req.IsolationLevel = -1, isolation
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = l.config.Topic
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = l.config.Partition, which
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		r, err := leader.Request(ctx, req)
		if err != nil {
			return err
		}
		resp := r.(*kmsg.ListOffsetsResponse)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the broker did not answer for the partition")
		}
		answer := &resp.Topics[0].Partitions[0]
		offset = answer.Offset
		return kerr.ErrorForCode(answer.ErrorCode)
	})
	if err != nil {
		err = fmt.Errorf("asking for its offsets: %w", err)
	}
	return offset, err
}

// openProducers describes the producers with an open transaction on the partition, as far as the brokers tell. The caller's
// deadline has passed already: it gets a short one of its own.
func (l *PointerLog) openProducers(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	req := kmsg.NewPtrDescribeProducersRequest()
	topic := kmsg.NewDescribeProducersRequestTopic()
	topic.Topic, topic.Partitions = l.config.Topic, []int32{l.config.Partition}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return nil
	}
	var open []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			for _, a := range p.ActiveProducers {
				if a.CurrentTxnStartOffset < 0 {
					continue
				}
				s := fmt.Sprintf("producer %d epoch %d since offset %d", a.ProducerID, a.ProducerEpoch, a.CurrentTxnStartOffset)
				if name := l.transactionOf(ctx, a.ProducerID); name != "" {
					s = name + " (" + s + ")"
				}
				open = append(open, s)
			}
		}
	}
	return open
}

// transactionOf returns the transactional ID of a producer, "" if nobody tells.
func (l *PointerLog) transactionOf(ctx context.Context, producer int64) string {
	req := kmsg.NewPtrListTransactionsRequest()
	req.ProducerIDFilters = []int64{producer}
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return ""
	}
	for _, state := range resp.TransactionStates {
		if state.ProducerID == producer {
			return state.TransactionalID
		}
	}
	return ""
}

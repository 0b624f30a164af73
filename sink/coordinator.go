package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// pinned sends a request in no newer form than max. A client's own limit would hold for all its requests.
type pinned struct {
	kmsg.Request
	max int16
}

func (p pinned) MaxVersion() int16 { return p.max }

// pinnedProduce keeps what the client wants to know of a produce request: how long the broker may take.
type pinnedProduce struct {
	*kmsg.ProduceRequest
	max int16
}

func (p pinnedProduce) MaxVersion() int16 { return p.max }

// The newest forms that transaction.version allows: key of the request, below 2, from 2 on. A newer form than that leaves
// the transaction open for good, so requests are pinned even though brokers offer more.
const (
	addOffsetsMax    = 3 // AddOffsetsToTxn is not used from 2 on
	addPartitionsMax = 3 // AddPartitionsToTxn neither; 4 and up are the brokers' own
	endTxnOld        = 4 //
	endTxnNew        = 5 //
	offsetCommitOld  = 4 //
	offsetCommitName = 5 // names topics
	offsetCommitID   = 6 // has topic IDs
)

// pick returns old below transaction.version 2, else new.
func (t *KafkaTransactions) pick(old, new int16) int16 {
	if t.version < 2 {
		return old
	}
	return new
}

// coordinatorKind is what a coordinator coordinates, in Kafka's numbers.
type coordinatorKind int8

const (
	groupCoordinator       coordinatorKind = 0
	transactionCoordinator coordinatorKind = 1
)

type coordinatorKey struct {
	kind coordinatorKind
	name string
}

// coordinator returns the broker that coordinates a group or a transactional ID.
func (t *KafkaTransactions) coordinator(ctx context.Context, key coordinatorKey) (int32, error) {
	t.coordinatorsMu.Lock()
	node, ok := t.coordinators[key]
	t.coordinatorsMu.Unlock()
	if ok {
		return node, nil
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType = int8(key.kind)
	req.CoordinatorKey, req.CoordinatorKeys = key.name, []string{key.name}
	// Any broker can tell. One that hangs must not use up the time of the call: the next try asks another one.
	once, cancel := context.WithTimeout(ctx, min(3*time.Second, t.config.RequestTimeout/4))
	defer cancel()
	resp, err := req.RequestWith(once, t.client)
	if err != nil {
		return 0, fmt.Errorf("looking up its coordinator: %w", err)
	}
	node, errorCode := resp.NodeID, resp.ErrorCode
	if len(resp.Coordinators) > 0 {
		node, errorCode = resp.Coordinators[0].NodeID, resp.Coordinators[0].ErrorCode
	}
	if err := kerr.ErrorForCode(errorCode); err != nil {
		return 0, fmt.Errorf("looking up its coordinator: %w", err)
	}
	t.coordinatorsMu.Lock()
	t.coordinators[key] = node
	t.coordinatorsMu.Unlock()
	return node, nil
}

func (t *KafkaTransactions) forget(key coordinatorKey) {
	t.coordinatorsMu.Lock()
	delete(t.coordinators, key)
	t.coordinatorsMu.Unlock()
}

// call sends a request to a coordinator, again and again while the answer is that it may work later, until the context ends.
// Only for requests that may arrive twice. check returns the error in the response.
func (t *KafkaTransactions) call(ctx context.Context, key coordinatorKey, req kmsg.Request, check func(kmsg.Response) error) error {
	var backoff retryBackoff
	var last error
	for {
		node, err := t.coordinator(ctx, key)
		if err == nil {
			var resp kmsg.Response
			if resp, err = t.client.Broker(int(node)).Request(ctx, req); err == nil {
				err = check(resp)
			}
			if err == nil {
				return nil
			}
			if !errors.Is(err, kerr.ConcurrentTransactions) && !errors.Is(err, kerr.UnstableOffsetCommit) {
				t.forget(key)
			}
		}
		if !worthRepeating(err) {
			return err
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		if !pause(ctx, backoff.next()) {
			if errors.Is(last, context.DeadlineExceeded) {
				return last
			}
			return fmt.Errorf("%w, the last answer: %w", ctx.Err(), last)
		}
	}
}

func worthRepeating(err error) bool {
	return kafka.IsRetriable(err) || errors.Is(err, kerr.ConcurrentTransactions)
}

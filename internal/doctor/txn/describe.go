package txn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// None is the state of an ID that the coordinator does not know: it was never used, or has expired.
const None = "None"

// State is what a coordinator says about a transactional ID.
type State struct {
	ID string `json:"transactional_id"`
	// State is Kafka's word (Ongoing, Empty, CompleteCommit, ...), or None.
	State string `json:"state"`
	// Producer is -1 if there is none.
	Producer int64 `json:"producer"`
	Epoch    int16 `json:"epoch"`
	// Started is when the open transaction began, in milliseconds by the broker's clock; 0 if none is open.
	Started int64 `json:"started_ms,omitempty"`
	// Timeout is after how many milliseconds the broker aborts it.
	Timeout int64 `json:"timeout_ms"`
	// Partitions are those in the open transaction, as far as we may see them.
	Partitions []Partition `json:"partitions,omitempty"`
	// Err is why there is nothing to say.
	Err error `json:"-"`
}

// Partition is a partition of a topic.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

func (p Partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

// Open reports whether the ID has a transaction that is neither committed nor aborted in full.
func (s *State) Open() bool {
	switch s.State {
	case "Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence":
		return true
	}
	return false
}

// Ending reports whether the outcome is decided and only the markers are to be written.
func (s *State) Ending() bool { return s.Open() && s.State != "Ongoing" }

// Age is how long the open transaction has been open, at least 0.
func (s *State) Age(now time.Time) time.Duration {
	return max(now.Sub(time.UnixMilli(s.Started)), 0)
}

// coordinatorPatience is how long a coordinator that is not there yet is waited for: on a new cluster the first question makes
// the brokers create their internal topic.
const coordinatorPatience = 5 * time.Second

// Describe asks the coordinators about IDs and answers in their order. An ID that could not be asked about has Err set.
func Describe(ctx context.Context, cl *kgo.Client, ids ...string) []State {
	ctx, cancel := context.WithTimeout(ctx, coordinatorPatience)
	defer cancel()
	states := make([]State, len(ids))
	at := map[string]int{}
	for i, id := range ids {
		states[i] = State{ID: id, State: None, Producer: -1, Epoch: -1, Err: errors.New("its coordinator did not answer")}
		at[id] = i
	}
	var backoff kafka.Backoff
	for left := ids; len(left) > 0; {
		describe(ctx, cl, left, func(id string) *State {
			if i, ok := at[id]; ok {
				return &states[i]
			}
			return nil
		})
		left = nil
		for _, s := range states {
			if s.Err != nil && kafka.IsRetriable(s.Err) {
				left = append(left, s.ID)
			}
		}
		if len(left) > 0 && !backoff.Wait(ctx) {
			break
		}
	}
	return states
}

// describe asks once; of gives the state that an answer belongs into.
func describe(ctx context.Context, cl *kgo.Client, ids []string, of func(string) *State) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = ids
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, id := range shard.Req.(*kmsg.DescribeTransactionsRequest).TransactionalIDs {
				// A deadline that ends a wait says less than what was waited for.
				if s := of(id); s.Err == nil || ctx.Err() == nil {
					s.Err = shard.Err
				}
			}
			continue
		}
		for _, r := range shard.Resp.(*kmsg.DescribeTransactionsResponse).TransactionStates {
			if s := of(r.TransactionalID); s != nil {
				s.take(&r)
			}
		}
	}
}

// take takes what a coordinator says.
func (s *State) take(r *kmsg.DescribeTransactionsResponseTransactionState) {
	s.Err = kerr.ErrorForCode(r.ErrorCode)
	if errors.Is(s.Err, kerr.TransactionalIDNotFound) {
		s.Err = nil
		return
	}
	if s.Err != nil {
		return
	}
	s.State, s.Producer, s.Epoch, s.Timeout = r.State, r.ProducerID, r.ProducerEpoch, int64(r.TimeoutMillis)
	if s.Open() && r.StartTimestamp > 0 {
		s.Started = r.StartTimestamp
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			s.Partitions = append(s.Partitions, Partition{t.Topic, p})
		}
	}
	slices.SortFunc(s.Partitions, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

// idsOf finds the transactional IDs of producers. One that the coordinators do not know, or that we may not see, is left out.
func idsOf(ctx context.Context, cl *kgo.Client, producers []int64) map[int64]string {
	ids := map[int64]string{}
	if len(producers) == 0 {
		return ids
	}
	req := kmsg.NewPtrListTransactionsRequest()
	req.ProducerIDFilters = producers
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			continue
		}
		for _, s := range shard.Resp.(*kmsg.ListTransactionsResponse).TransactionStates {
			if slices.Contains(producers, s.ProducerID) {
				ids[s.ProducerID] = s.TransactionalID
			}
		}
	}
	return ids
}

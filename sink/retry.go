package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafka"
)

// verdict is what to do about a batch that was not acknowledged.
type verdict int

const (
	// giveUp ends the attempt.
	giveUp verdict = iota
	// sendAgain sends the same batch, with the same sequence number, to the same broker after a pause.
	sendAgain
	// askLeader looks up the leader before that: it may have moved, or its connection is gone.
	askLeader
)

// judge decides by the answer. Sending again is safe: the broker knows the batch by its sequence number.
func judge(err error) verdict {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		switch ke {
		case kerr.ConcurrentTransactions,
			kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, // of the implicit addition
			kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut, kerr.ThrottlingQuotaExceeded:
			return sendAgain
		case kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
			kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.KafkaStorageError, kerr.NetworkException,
			kerr.ReplicaNotAvailable, kerr.BrokerNotAvailable, kerr.OffsetNotAvailable, kerr.InconsistentTopicID:
			return askLeader
		}
		return giveUp
	}
	if errors.Is(err, kgo.ErrClientClosed) || errors.Is(err, context.Canceled) || kafka.IsAuthentication(err) {
		return giveUp
	}
	// Everything else is the connection, before or after the broker had the request.
	return askLeader
}

// retryBackoff spaces out the tries of one batch: 1 ms at first, since CONCURRENT_TRANSACTIONS ends soon, up to 250 ms.
type retryBackoff struct{ tries int }

func (b *retryBackoff) next() time.Duration {
	d := min(time.Millisecond<<min(b.tries, 10), 250*time.Millisecond)
	b.tries++
	return d
}

// park leaves a partition to the retrier for a while. The lock is held.
func (t *KafkaTransactions) park(p *partition, err error, pause time.Duration) {
	if p.head.deadline.IsZero() {
		p.head.deadline = time.Now().Add(t.config.RequestTimeout)
	}
	if err != nil {
		p.last = err
	}
	p.parked, p.retryAt = true, time.Now().Add(pause)
	t.parked = append(t.parked, p)
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// runRetrier takes up parked partitions when their time has come, and asks for the leaders that are not known.
func (t *KafkaTransactions) runRetrier(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.kick:
		case <-timer.C:
		}
		leaderless, wait := t.due()
		for len(leaderless) > 0 && ctx.Err() == nil {
			for name, parts := range leaderless {
				t.findLeaders(ctx, name, parts)
			}
			leaderless, wait = t.due()
		}
		if wait >= 0 {
			timer.Reset(wait)
		}
	}
}

// due offers the partitions whose pause is over, and returns those whose leader has to be found, by topic, and how long it
// is until the next one (-1: none).
func (t *KafkaTransactions) due() (leaderless map[string][]*partition, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	wait = -1
	if t.err != nil {
		return nil, wait
	}
	t.parked = slices.DeleteFunc(t.parked, func(p *partition) bool {
		if left := p.retryAt.Sub(now); left > 0 {
			if wait < 0 || left < wait {
				wait = left
			}
			return false
		}
		if p.leader >= 0 {
			p.parked = false
			t.offer(p)
			return true
		}
		if leaderless == nil {
			leaderless = map[string][]*partition{}
		}
		leaderless[p.topic.name] = append(leaderless[p.topic.name], p)
		return true
	})
	return leaderless, wait
}

// findLeaders asks for the leaders of a topic's partitions and takes those up that have one.
func (t *KafkaTransactions) findLeaders(ctx context.Context, name string, parts []*partition) {
	// Short enough that the deadlines of the batches are looked at in between.
	call, cancel := context.WithTimeout(ctx, min(t.config.RequestTimeout, 3*time.Second))
	defer cancel()
	found, err := t.cluster.Topic(call, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range parts {
		if t.err != nil {
			return
		}
		if err == nil && found.ID != p.topic.id {
			t.failLocked(fmt.Errorf("topic %s: it was deleted and made again while it was written to", name))
			return
		}
		// A topic that has just been made may be unknown to the broker asked; one that stays unknown is gone.
		gone := errors.Is(err, kafka.ErrNoTopic) && p.backoff.tries > 10
		if err != nil && (gone || !kafka.IsRetriable(err) && !errors.Is(err, kafka.ErrNoTopic)) {
			t.failLocked(err)
			return
		}
		cause := err
		if err == nil {
			if leader := leaderOf(found, p.index); leader >= 0 {
				p.leader, p.parked = leader, false
				t.offer(p)
				continue
			}
			cause = errors.New("it has no leader")
		}
		if p.last != nil {
			cause = fmt.Errorf("%w (%w)", cause, p.last)
		}
		if !time.Now().Before(p.head.deadline) {
			t.failLocked(t.writeError(p, fmt.Errorf("not acknowledged within %s: %w", t.config.RequestTimeout, cause)))
			return
		}
		t.park(p, nil, p.backoff.next())
	}
}

func leaderOf(found kafka.Topic, index int32) int32 {
	for _, q := range found.Partitions {
		if q.Index == index {
			return q.Leader
		}
	}
	return -1
}

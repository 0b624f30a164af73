package probe

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/doctor/txn"
)

// checkTransactions looks for open transactions of the job and of others where the job reads and writes.
func (e *examination) checkTransactions(ctx context.Context) []doctor.Finding {
	c := e.home
	l := doctor.Leftovers{Running: e.running, Own: txn.Describe(ctx, c.client, IDs(&e.config.Checkpoint, e.config.Job)...), Roles: map[string]string{}}
	for _, u := range c.uses {
		role := "source"
		if u.sink {
			role = "sink"
		}
		if l.Roles[u.topic] == "" || u.sink {
			l.Roles[u.topic] = role
		}
	}
	l.Roles[c.own] = "checkpoint"
	l.Blocks, l.Errs = txn.Blocked(ctx, c.client, c.asked(c.names()...))
	blocked := map[string][]int32{}
	for _, b := range l.Blocks {
		blocked[b.Topic] = append(blocked[b.Topic], b.Partition.Partition)
	}
	l.Open, l.Unasked = txn.Producers(ctx, c.client, blocked)
	if len(l.Unasked) > 0 && wait(ctx, moment) {
		l.Blocks = txn.Still(ctx, c.client, l.Blocks) // of these nobody says when the transaction began
	}
	if values, err := c.brokerSettings(ctx); err == nil {
		l.Longest, _ = time.ParseDuration(values["transaction.max.timeout.ms"] + "ms")
	}
	return doctor.Transactions(l, e.now())
}

// moment is longer than a transaction of a job usually takes to be committed once its outcome is decided.
const moment = time.Second

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Moves reports whether any of the IDs changes within a time: somebody uses it. It returns as soon as one does.
func Moves(ctx context.Context, cl *kgo.Client, ids []string, within time.Duration) bool {
	same := func(a, b txn.State) bool {
		return a.State == b.State && a.Producer == b.Producer && a.Epoch == b.Epoch && a.Started == b.Started
	}
	before := txn.Describe(ctx, cl, ids...)
	if !slices.ContainsFunc(before, func(s txn.State) bool { return s.Err == nil && s.State != txn.None }) {
		return false
	}
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(max(within/10, 20*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-deadline.C:
			return false
		case <-tick.C:
		}
		now := txn.Describe(ctx, cl, ids...)
		for i := range now {
			if now[i].Err == nil && before[i].Err == nil && !same(now[i], before[i]) {
				return true
			}
		}
	}
}

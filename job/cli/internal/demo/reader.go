package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/job/cli/internal/clicks"
)

// reader is the read_committed reader of the output: it keeps all that it sees, in order, for each user.
type reader struct {
	cl *kgo.Client

	mu   sync.Mutex
	seen map[string][]clicks.Result
	// home is the partition of each user; a second one would have no order.
	home    map[string]int32
	next    map[int32]int64 // next offset by partition
	total   int64
	arrived chan struct{} // closed and replaced when something arrives
}

func newReader(broker string) (*reader, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(clicks.Out), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	return &reader{cl: cl, seen: map[string][]clicks.Result{}, home: map[string]int32{}, next: map[int32]int64{}, arrived: make(chan struct{})}, nil
}

// run reads until the context ends.
func (r *reader) run(ctx context.Context) error {
	for {
		fetches := r.cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("reading topic %s: %w", clicks.Out, err)
		}
		if err := r.take(fetches); err != nil {
			return err
		}
	}
}

func (r *reader) take(fetches kgo.Fetches) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.total
	for it := fetches.RecordIter(); !it.Done(); {
		rec := it.Next()
		r.next[rec.Partition] = rec.Offset + 1
		if rec.Attrs.IsControl() {
			continue
		}
		result, err := clicks.ParseResult(rec.Value)
		if err != nil {
			return fmt.Errorf("topic %s partition %d offset %d: %w", rec.Topic, rec.Partition, rec.Offset, err)
		}
		if home, ok := r.home[result.User]; ok && home != rec.Partition {
			return fmt.Errorf("topic %s: user %s is in partitions %d and %d", rec.Topic, result.User, home, rec.Partition)
		}
		r.home[result.User] = rec.Partition
		r.seen[result.User] = append(r.seen[result.User], result)
		r.total++
	}
	if r.total > before {
		close(r.arrived)
		r.arrived = make(chan struct{})
	}
	return nil
}

// progress is how many results have been seen, and a channel that is closed when there are more.
func (r *reader) progress() (int64, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total, r.arrived
}

// reached reports whether everything below the given offsets has been read.
func (r *reader) reached(ends map[int32]int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for partition, end := range ends {
		if r.next[partition] < end {
			return false
		}
	}
	return true
}

func (r *reader) results() map[string][]clicks.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

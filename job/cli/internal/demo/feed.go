package demo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/job/cli/internal/clicks"
)

// Feed writes events from, from+1 ... to-1 of a source to a topic, spread evenly over a time; a time of 0 is as fast as it
// goes. sent counts them. It returns when all are acknowledged.
func Feed(ctx context.Context, cl *kgo.Client, topic string, src clicks.Source, from, to int64, over time.Duration, sent *atomic.Int64) error {
	const tick = 10 * time.Millisecond
	var failed atomic.Pointer[error]
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	began := time.Now()
	for i := from; i < to; {
		due := to
		if over > 0 {
			due = min(to, from+int64(float64(to-from)*float64(time.Since(began)+tick)/float64(over)))
		}
		now := time.Now()
		for ; i < due && ctx.Err() == nil; i++ {
			e := src.At(i)
			r := &kgo.Record{Topic: topic, Key: []byte(e.User), Value: e.JSON(now.UnixMilli()), Timestamp: now}
			cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
				if err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				sent.Add(1)
			})
		}
		if err := failed.Load(); err != nil {
			return fmt.Errorf("writing to topic %s: %w", topic, *err)
		}
		if over > 0 && i < to {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return fmt.Errorf("writing to topic %s: %w", topic, *err)
	}
	return nil
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// Whatever a checkpoint's work waits for when its time is over, what is reported says that it expired, after how long and
// where. Work that ends by itself says what it says.
func TestWorkBehindItsDeadlineSaysThatItExpired(t *testing.T) {
	refused := errors.New("refused")
	for _, tc := range []struct {
		name string
		time time.Duration
		work func(context.Context, *completion) error
		want string
	}{
		{"waits until then", time.Millisecond, func(ctx context.Context, _ *completion) error {
			<-ctx.Done()
			return fmt.Errorf("prepare: waiting for 8 record batches: %w", ctx.Err())
		}, "expired after 1ms: prepare: waiting for 8 record batches: context deadline exceeded"},
		{"is refused behind it", time.Millisecond, func(ctx context.Context, _ *completion) error {
			<-ctx.Done()
			return refused
		}, "refused"},
		{"is refused before", time.Hour, func(context.Context, *completion) error { return refused }, "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			a := &attempt{ctx: ctx, cfg: &Config{}}
			a.cfg.Checkpoint = checkpoint.Options{Timeout: tc.time}
			c := &coordination{a: a, in: make(chan any, 1)}
			work, ended := make(chan *completion, 1), make(chan error, 1)
			work <- &completion{checkpoint: 14, deadline: time.Now().Add(tc.time)}
			go func() { ended <- c.worker(ctx, work, tc.work) }()
			got, ok := (<-c.in).(failed)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the worker ended with %v, want the end of its context", err)
			}
			if got := errors.Is(got.err, checkpoint.ErrExpired); got != strings.HasPrefix(tc.want, "expired") {
				t.Errorf("reported as expired: %t", got)
			}
			if !ok || got.checkpoint != 14 || !strings.HasPrefix(got.err.Error(), tc.want) {
				t.Errorf("reported %+v, want checkpoint 14: %s", got, tc.want)
			}
		})
	}
}

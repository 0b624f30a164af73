package job_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/weirstream/weir/job"
)

func TestSumsAreExactAfterCrashes(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(20 * time.Millisecond)
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	total, last := 0, int64(0)
	for i := range 5 {
		c.feed("in", total, 5000, 100)
		total += 5000
		j, err := sums(1).Prepare(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, crash := context.WithCancelCause(context.Background())
		t.Cleanup(func() { crash(nil) })
		done := make(chan error, 1)
		go func() { done <- j.Run(ctx) }()
		if i < 4 {
			// The attempt's own first checkpoint, and one with records.
			eventually(t, "a checkpoint", func() bool { return j.Status().Checkpoint >= last+2 })
			crash(errCrash)
			<-done
			last = j.Status().Checkpoint
			continue
		}
		want := wantSums(total, 100)
		eventually(t, "all results", func() bool { return diff(c.read("out"), want) == nil })
		j.Stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := diff(c.read("out"), want); err != nil {
			t.Fatal(err)
		}
	}
}

var _ job.Options

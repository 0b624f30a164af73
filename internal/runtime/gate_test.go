package runtime

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestGateHoldsBackWhatIsBlockedAndLosesNothing(t *testing.T) {
	g := newGate(t.Context(), 2, time.Second)
	for i := range int64(3) {
		for c := range 2 {
			if err := g.channels[c].push(message{kind: barrier, checkpoint: i}); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.hold(true, 0)
	for i := range int64(3) {
		c, m, ok := g.tryPop()
		if !ok || c != 1 || m.checkpoint != i {
			t.Fatalf("message %d: channel %d, %+v, %v", i, c, m, ok)
		}
	}
	if _, _, ok := g.tryPop(); ok {
		t.Fatal("a channel that is held back was read")
	}
	g.hold(false, 0)
	for i := range int64(3) {
		if c, m, ok := g.tryPop(); !ok || c != 0 || m.checkpoint != i {
			t.Fatalf("message %d: channel %d, %+v, %v", i, c, m, ok)
		}
	}
}

func TestGateIsBoundedAndGivesUpWithTheAttempt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	g := newGate(ctx, 1, time.Second)
	for range channelCapacity {
		if err := g.channels[0].push(message{}); err != nil {
			t.Fatal(err)
		}
	}
	errEnd := errors.New("the attempt ends")
	full := make(chan error)
	go func() { full <- g.channels[0].push(message{}) }()
	g.tryPop()
	if err := <-full; err != nil {
		t.Fatalf("there was room: %v", err)
	}
	go func() { full <- g.channels[0].push(message{}) }()
	cancel(errEnd)
	if err := <-full; !errors.Is(err, errEnd) {
		t.Fatalf("got %v, want the attempt's error", err)
	}
}

// What lies in a gate is done within its patience, however long an event takes.
func TestMessagesHoldLessTheLongerTheirEventsTake(t *testing.T) {
	g := newGate(t.Context(), 2, 9*time.Second)
	for _, c := range []struct {
		took   time.Duration
		events int
		want   int32
	}{
		{0, 0, firstGathered}, // a watermark tells nothing
		{time.Microsecond, 8, batchSize},
		{256 * 5 * time.Millisecond, 256, 100},
		{100 * 50 * time.Millisecond, 100, 10},
		{10 * time.Second, 10, 1},
		{10 * time.Nanosecond, 1, batchSize},
	} {
		g.took(c.took, c.events)
		if got := g.gather.Load(); got != c.want {
			t.Errorf("%d events in %s: messages hold %d, want %d", c.events, c.took, got, c.want)
		}
	}
}

package runtime

import (
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// A source rests only while a barrier is known to be far away, and never for longer than it has to catch up.
func TestASourceRestsBetweenBarriersOnly(t *testing.T) {
	const hour = time.Hour
	soon := func(d time.Duration) *time.Time { at := time.Now().Add(d); return &at }
	for _, tc := range []struct {
		name           string
		next           *time.Time
		interval, took time.Duration
		mode           checkpoint.Mode
		least, most    time.Duration
	}{
		{"the coordinator has not begun", nil, 100 * time.Millisecond, 0, checkpoint.ExactlyOnce, -hour, 0},
		{"at any moment", new(time.Time), 100 * time.Millisecond, 0, checkpoint.ExactlyOnce, -hour, 0},
		{"it is due", soon(-time.Second), 100 * time.Millisecond, 0, checkpoint.ExactlyOnce, -hour, 0},
		{"within the margin", soon(20 * time.Millisecond), 100 * time.Millisecond, 0, checkpoint.ExactlyOnce, -hour, 0},
		{"far away", soon(hour), 100 * time.Millisecond, time.Millisecond, checkpoint.ExactlyOnce, 25 * time.Millisecond, 25 * time.Millisecond},
		{"a long interval", soon(hour), hour, time.Millisecond, checkpoint.ExactlyOnce, 25 * time.Millisecond, 25 * time.Millisecond},
		{"a short interval", soon(hour), 20 * time.Millisecond, time.Millisecond, checkpoint.ExactlyOnce, 5 * time.Millisecond, 5 * time.Millisecond},
		{"brokers far away", soon(hour), 100 * time.Millisecond, 13 * time.Millisecond, checkpoint.ExactlyOnce, 0, 0},
		{"results are seen at once", soon(hour), 100 * time.Millisecond, 0, checkpoint.AtLeastOnce, 0, 0},
	} {
		a := &attempt{cfg: &Config{Checkpoint: checkpoint.Options{Interval: tc.interval, Mode: tc.mode}}}
		a.nextTrigger.Store(tc.next)
		if got := a.rest(tc.took); got < tc.least || got > tc.most {
			t.Errorf("%s: %s, want %s to %s", tc.name, got, tc.least, tc.most)
		}
	}
}

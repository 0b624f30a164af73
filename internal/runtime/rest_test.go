package runtime

import (
	"testing"
	"testing/synctest"
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

// Where a barrier finds nothing in its way and checkpoints are frequent, a source is asked once a checkpoint: as late as a fetch
// and what it brings can be through before the barrier, and not again before that one.
func TestASourceIsFetchedFromOnceAShortInterval(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name                   string
		left, interval, travel time.Duration
		want                   time.Duration // for a fetch of 1 ms
	}{
		{"after a barrier", 19 * ms, 20 * ms, ms, 16750 * time.Microsecond},
		{"the fetch of the interval was long ago", 4 * ms, 20 * ms, ms, 1750 * time.Microsecond},
		{"just after it", 2 * ms, 20 * ms, ms, 19750 * time.Microsecond},
		{"no barrier yet", 19 * ms, 20 * ms, 0, 5 * ms},
		{"the last barrier was held up", 19 * ms, 20 * ms, 3 * ms, 5 * ms},
		{"a long interval", 90 * ms, 100 * ms, ms, 25 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &attempt{cfg: &Config{Checkpoint: checkpoint.Options{Interval: tc.interval, Mode: checkpoint.ExactlyOnce}}}
			next := time.Now().Add(tc.left)
			a.nextTrigger.Store(&next)
			a.travel.Store(int64(tc.travel))
			if got := a.rest(ms); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
			}
		})
	}
}

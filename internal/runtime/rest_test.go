package runtime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
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

// Where checkpoints are frequent and find nothing in their way, a source is asked once for each: as late as a fetch and what it
// brings can be through before the barrier, and not again before that one.
func TestASourceIsFetchedFromOnceAShortInterval(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name           string
		left, interval time.Duration
		smooth         int32
		want           time.Duration // for a fetch of 1 ms
	}{
		{"after a barrier", 19 * ms, 20 * ms, 4, 16750 * time.Microsecond},
		{"the fetch of the interval was long ago", 4 * ms, 20 * ms, 5, 1750 * time.Microsecond},
		{"just after it", 2 * ms, 20 * ms, 4, 19750 * time.Microsecond},
		{"the barrier is late", -1, 20 * ms, 4, 0},
		{"not often enough", 19 * ms, 20 * ms, 3, 5 * ms},
		{"a longer interval", 19 * ms, 24 * ms, 8, 6 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &attempt{cfg: &Config{Checkpoint: checkpoint.Options{Interval: tc.interval, Mode: checkpoint.ExactlyOnce}}}
			next := time.Now().Add(tc.left)
			a.nextTrigger.Store(&next)
			a.smooth.Store(tc.smooth)
			if got := max(0, a.rest(ms)); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
			}
		})
	}
}

// Whatever a checkpoint finds in its way ends that.
func TestACheckpointThatIsHeldUpIsNoted(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name                string
		travel, took, pause time.Duration
		behind, free        bool
	}{
		{"nothing", ms, 10 * ms, 0, false, true},
		{"the barriers took long", 3 * ms, 10 * ms, 0, false, false},
		{"records were behind a barrier that were fetched before", ms, 10 * ms, 0, true, false},
		{"the commit took long", ms, 20 * ms, 0, false, false},
		{"the pause moves the next one", ms, 10 * ms, 10 * ms, false, false},
	} {
		a := &attempt{cfg: &Config{Checkpoint: checkpoint.Options{Interval: 20 * ms, MinPause: tc.pause}}}
		a.smooth.Store(3)
		a.foundFree(&completion{travel: tc.travel, behind: tc.behind}, tc.took)
		if got := a.smooth.Load() == 4; got != tc.free || !got && a.smooth.Load() != 0 {
			t.Errorf("%s: %d in a row, of 3 before", tc.name, a.smooth.Load())
		}
	}
}

// A barrier notes what it leaves behind: here the rest of a batch that it cuts.
func TestABarrierThatCutsABatchLeavesRecordsBehind(t *testing.T) {
	a := &attempt{cfg: &Config{Listener: &checkpoint.Listener{OnSnapshot: func(checkpoint.SnapshotEvent) {}}}, ctx: t.Context(), budget: 1}
	a.coord = &coordination{a: a, in: make(chan any, 4)}
	st, _ := clockwork(1)
	st.ctx = &operators.Context{}
	s := &sourceSubtask{
		subtask: subtask{a: a, chain: &chain{stages: []*stage{st}}}, node: &Node{Name: "in"},
		barriers: make(chan int64, 2), splits: make([]checkpoint.Split, 1),
	}
	s.positions.Store(&[]*position{{}})
	s.decode = func(_ int32, r *stream.Record) error {
		if r.Offset == 1 {
			s.barriers <- 5
		}
		return nil
	}
	b := source.Batch{Records: []stream.Record{{Offset: 0}, {Offset: 1}, {Offset: 2}}, Next: 3}
	if err := s.batch(&b); err != nil {
		t.Fatal(err)
	}
	if err := s.barrier(6, len(s.events) > 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		offset int64
		behind bool
	}{{2, true}, {3, false}} {
		for {
			snap, ok := (<-a.coord.in).(*snapshot)
			if !ok {
				continue // the first records are through
			}
			if got := snap.splits[0].split.Offset; got != want.offset || snap.behind != want.behind {
				t.Errorf("a barrier at %d, records behind it: %t; want %d, %t", got, snap.behind, want.offset, want.behind)
			}
			break
		}
	}
}

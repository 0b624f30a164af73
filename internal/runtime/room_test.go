package runtime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/operators"
)

// fullTable has more than its share, and gives up what it is asked to unless it is stuck.
type fullTable struct {
	operators.Table
	bytes int64
	stuck bool
	looks []int
}

func (t *fullTable) Bytes() int64 { return t.bytes }

func (t *fullTable) Evict(bytes int64, looks int) (stuck bool) {
	t.looks = append(t.looks, looks)
	if !t.stuck {
		t.bytes = min(t.bytes, bytes)
	}
	return t.stuck
}

func subtaskWith(t *testing.T, tables ...operators.Table) *subtask {
	a := &attempt{cfg: &Config{}, ctx: t.Context(), budget: 1000}
	a.cfg.Checkpoint.Timeout = 40 * time.Second
	return &subtask{a: a, chain: &chain{tables: tables}}
}

func TestTablesShareWhatHasToGo(t *testing.T) {
	large, small := &fullTable{bytes: 900}, &fullTable{bytes: 300}
	s := subtaskWith(t, large, small)
	if err := s.makeRoom(10); err != nil {
		t.Fatal(err)
	}
	if large.bytes != 750 || small.bytes != 250 {
		t.Errorf("%d and %d bytes are left of a budget of 1000", large.bytes, small.bytes)
	}
	if len(large.looks) != 1 || large.looks[0] != 10*looksInHaste {
		t.Errorf("looks for 10 events: %d", large.looks)
	}
	if err := s.makeRoom(10); err != nil || len(large.looks) != 1 {
		t.Errorf("a state within its budget was asked to shrink (%v)", err)
	}
}

func TestASubtaskThatIsStuckWaitsForTheBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &fullTable{bytes: 1200, stuck: true}
		s := subtaskWith(t, table)
		took := func() time.Duration {
			began := time.Now()
			if err := s.makeRoom(1); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if d := took(); d != 0 {
			t.Errorf("it waited for %s, and no base is being written", d)
		}
		written := make(chan struct{})
		s.a.writing.Store(&written)
		time.AfterFunc(4*time.Second, func() { close(written) })
		if d := took(); d != 4*time.Second {
			t.Errorf("it waited for %s, and the base was there after 4 s", d)
		}
		never := make(chan struct{})
		s.a.writing.Store(&never)
		if d := took(); d != 6*time.Second {
			t.Errorf("it waited for another %s: a quarter of the checkpoint's 40 s are 10 s in all", d)
		}
		if d := took(); d != 0 {
			t.Errorf("it waited for %s more: the barrier behind it must get through", d)
		}
		s.chain.waited = 0 // a barrier
		table.bytes = 1100
		if d := took(); d != 0 {
			t.Errorf("it waited for %s, and has no more than a tenth too much", d)
		}
	})
}

// Bases that need not be are most of what is written to the storage with many keys.
func TestMapsThatAreSoonFullNeedABase(t *testing.T) {
	for _, tc := range []struct {
		name        string
		live, grown int64 // of 128 MiB
		passed      time.Duration
		want        bool
	}{
		{"at rest with nineteen of twenty parts", 122, 0, time.Second, false},
		{"evicting", 127, -1, time.Second, true},
		{"growing, and full in two checkpoints", 100, 14, time.Second, true},
		{"growing slowly", 100, 12, time.Second, false},
		{"growing, and full before a base is written", 100, 1, 20 * time.Millisecond, true},
		{"less than before", 120, -60, time.Second, false},
	} {
		if got := fills(tc.live<<20, tc.grown<<20, tc.passed, 128<<20); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}

// Each subtask has its part: one that is full counts although the others have room, and what was there at first is no growth.
func TestOneFullSubtaskIsEnough(t *testing.T) {
	withState := func(m *StepMetrics) *chain { return &chain{stages: []*stage{{metrics: m}}} }
	var live, none StepMetrics
	full, empty := withState(&live), withState(&none)
	a := &attempt{budget: 1000, readers: []*sourceSubtask{{subtask: subtask{chain: full}}}, operators: []*operatorSubtask{{subtask: subtask{chain: empty}}}}
	live.StateBytes.Store(600)
	now := time.Now()
	if a.soonFull(now) {
		t.Error("what a subtask has at the first look counts as growth")
	}
	if a.soonFull(now.Add(time.Second)) {
		t.Error("a subtask at rest with three fifths of its part needs a base")
	}
	live.StateBytes.Store(990)
	if !a.soonFull(now.Add(2 * time.Second)) {
		t.Error("a subtask that is full needs none")
	}
}

func TestABaseIsDueAfterThreeTimesWhatTheLastOneWrote(t *testing.T) {
	for _, tc := range []struct{ after, memory, wrote, want checkpoint.Bytes }{
		{32, 512, 0, 32},
		{32, 512, 10, 32},
		{32, 512, 15, 45},
		{32, 512, 30, 64},
		{32, 8192, 500, 64},
		{32, 400, 20, 50},
		{100, 512, 30, 100},
		{1, 512, 30, 2},
	} {
		o := checkpoint.Options{BaseAfter: tc.after, Memory: tc.memory}
		if got := baseAfter(&o, int64(tc.wrote)); got != tc.want {
			t.Errorf("base_after %d, a budget of %d, %d written: %d, want %d", tc.after, tc.memory, tc.wrote, got, tc.want)
		}
	}
}

func TestALargeMergeUnderPressureIsABase(t *testing.T) {
	for _, tc := range []struct {
		is   checkpoint.Merge
		want checkpoint.Merge
	}{
		{checkpoint.Merge{Kind: checkpoint.MergeNothing, From: 3}, checkpoint.Merge{Kind: checkpoint.MergeNothing, From: 3}},
		{checkpoint.Merge{Kind: checkpoint.MergeDeltas, From: 2}, checkpoint.Merge{Kind: checkpoint.MergeDeltas, From: 2}},
		{checkpoint.Merge{Kind: checkpoint.MergeDeltas, From: 1}, checkpoint.Merge{Kind: checkpoint.MergeBase, From: 1}},
		{checkpoint.Merge{Kind: checkpoint.MergeDeltas}, checkpoint.Merge{Kind: checkpoint.MergeBase}},
		{checkpoint.Merge{Kind: checkpoint.MergeBase}, checkpoint.Merge{Kind: checkpoint.MergeBase}},
	} {
		if got := underPressure(tc.is, []int64{50, 60, 40}, 99); got != tc.want {
			t.Errorf("%+v: %+v, want %+v", tc.is, got, tc.want)
		}
	}
}

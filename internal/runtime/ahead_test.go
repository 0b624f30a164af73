package runtime

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/stream"
)

// aheadOf returns an attempt with a keyed step, and pointers whose only delta has the key given.
func aheadOf(t *testing.T) (a *attempt, pointer func(key string) *checkpoint.Pointer) {
	t.Helper()
	dir := t.TempDir()
	store, err := checkpoint.OpenStore(t.Context(), filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	a = &attempt{
		id: "next", ctx: t.Context(), logger: slog.New(slog.DiscardHandler), now: func() int64 { return 0 },
		cfg:   &Config{Job: "job", Checkpoint: checkpoint.Options{LocalDir: filepath.Join(dir, "local"), Memory: 64 << 20}},
		graph: &Graph{Nodes: []*Node{{Name: "count", Keyed: true}}},
	}
	a.files = a.filesOf(store)
	a.closers = append(a.closers, func() { store.Close() })
	maker, err := pebblestate.Open(t.Context(), pebblestate.Options{Dir: filepath.Join(dir, "maker"), CacheDir: filepath.Join(dir, "cache"), CacheBytes: 1 << 20}, pebblestate.Restore{})
	if err != nil {
		t.Fatal(err)
	}
	a.closers = append(a.closers, func() { maker.Close() })
	return a, func(key string) *checkpoint.Pointer {
		w := maker.NewDelta()
		if err := w.Put(stream.KeyGroup(0), 0, key, nil, []byte("1")); err != nil {
			t.Fatal(err)
		}
		d, err := a.place(t.Context(), 1, w.Bytes(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return &checkpoint.Pointer{Checkpoint: 1, Attempt: key, Deltas: []checkpoint.Delta{d}}
	}
}

func workingDirectories(a *attempt) []string {
	entries, _ := os.ReadDir(filepath.Join(a.cfg.Checkpoint.LocalDir, "job", "0", "attempts"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestStateOpenedAheadIsThatOfThePointerThatIsDecidedOn(t *testing.T) {
	a, pointer := aheadOf(t)
	defer a.close()
	seen := pointer("k")
	decided := *seen
	a.readAhead(seen)
	a.ahead.allow()
	taken, err := a.takeAhead(t.Context(), &decided)
	if err != nil || !taken || a.backend == nil {
		t.Fatalf("taken %t, %v", taken, err)
	}
	if _, ok, err := a.backend.Get(0, 0, "k", nil); !ok || err != nil {
		t.Errorf("the key is there: %t, %v", ok, err)
	}
}

func TestStateOpenedAheadOfAnotherPointerIsThrownAway(t *testing.T) {
	a, pointer := aheadOf(t)
	seen, decided := pointer("k"), pointer("l")
	decided.Deltas = append(decided.Deltas, seen.Deltas...)
	a.readAhead(seen)
	a.ahead.allow()
	<-a.ahead.done
	a.last = &checkpoint.Pointer{}
	if err := a.openState(t.Context(), &checkpoint.Resolution{Kind: checkpoint.ResolvedContinue, Pointer: decided}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"k", "l"} {
		if _, ok, err := a.backend.Get(0, 0, key, nil); !ok || err != nil {
			t.Errorf("key %s is there: %t, %v", key, ok, err)
		}
	}
	if left := workingDirectories(a); len(left) != 1 || len(a.last.Deltas) != 2 {
		t.Errorf("working directories %q, %d deltas", left, len(a.last.Deltas))
	}
	a.close()
	if left := workingDirectories(a); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A start that is refused makes no working directory, and waits for nothing.
func TestStateIsNotOpenedBeforeTheStartIsAllowed(t *testing.T) {
	a, pointer := aheadOf(t)
	a.readAhead(pointer("k"))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.close()
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if left := workingDirectories(a); len(left) != 0 {
		t.Errorf("made: %q", left)
	}
}

// What went wrong ahead, before anybody waited for it, is tried again.
func TestAnErrorAheadIsNobodys(t *testing.T) {
	a, pointer := aheadOf(t)
	defer a.close()
	seen := pointer("k")
	ctx, cancel := context.WithCancel(t.Context())
	a.ctx = ctx
	cancel()
	a.readAhead(seen)
	a.ahead.allow()
	<-a.ahead.done
	if a.ahead.err == nil {
		t.Fatal("no error")
	}
	a.last = &checkpoint.Pointer{}
	if err := a.openState(t.Context(), &checkpoint.Resolution{Kind: checkpoint.ResolvedContinue, Pointer: seen}); err != nil || a.backend == nil {
		t.Errorf("opened: %v", err)
	}
}

func TestTheFirstRecordsAfterARecoveryAreCommittedAtOnce(t *testing.T) {
	triggered := func(before *checkpoint.Pointer, later bool) bool {
		options := checkpoint.Options{Interval: time.Hour}
		options.EnsureDefaults()
		c := &coordination{a: &attempt{before: before}, coord: checkpoint.NewCoordinator(options, nil, 4), committed: 5, began: 5}
		c.coord.Start(c.now())
		c.coord.Committed(5, c.now())
		if later {
			c.committed = 6
		}
		for _, d := range c.input(firstRecords{}) {
			if d.Kind == checkpoint.DecideTrigger {
				return true
			}
		}
		return false
	}
	last := &checkpoint.Pointer{Checkpoint: 4}
	if !triggered(last, false) {
		t.Error("nothing is triggered after a recovery")
	}
	if triggered(nil, false) {
		t.Error("a new job does not wait for its interval")
	}
	if triggered(last, true) {
		t.Error("a checkpoint is triggered though one has been taken")
	}
}

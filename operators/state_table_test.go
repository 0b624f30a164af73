package operators

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weirstream/weir/stream"
)

func newModelStore() *modelStore { return &modelStore{entries: map[string]string{}} }

func modelContext(store StateStore) *Context {
	return &Context{
		Subtask: stream.SubtaskID{Operator: "op"}, KeyGroups: 16, Groups: stream.KeyGroupRange{First: 0, Last: 15}, Store: store,
	}
}

func useKey(ctx *Context, key string) { ctx.SetKey(stream.KeyGroupOf([]byte(key), 16), key) }

// checkpointOf freezes, encodes and, if asked to, writes to the store, as one step.
func checkpointOf(t *testing.T, store *modelStore, table Table, checkpoint int64, apply bool) modelDelta {
	t.Helper()
	d := modelDelta{}
	if f := table.Freeze(checkpoint); f != nil {
		if err := f.Encode(d); err != nil {
			t.Fatal(err)
		}
	}
	if apply {
		store.apply(d)
		store.applied.Store(checkpoint)
	}
	return d
}

func must0(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestASteadyStateAllocatesNothing(t *testing.T) {
	store := newModelStore()
	ctx := modelContext(store)
	value, err := NewValue[int64](ctx, "v", nil)
	must0(t, err)
	window, err := NewWindow[int64](ctx, "w", nil)
	must0(t, err)
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
	}
	round := func() {
		for _, key := range keys {
			useKey(ctx, key)
			v, _, err := value.Get()
			must0(t, errors.Join(err, value.Put(v+1)))
			v, _, err = window.Get(60_000)
			must0(t, errors.Join(err, window.Put(60_000, v+1)))
		}
	}
	for i := range int64(4) {
		round()
		checkpointOf(t, store, value, i, false)
		checkpointOf(t, store, window, i, false)
	}
	if n := testing.AllocsPerRun(20, round); n > 0 {
		t.Errorf("%v allocations for %d records", n, len(keys))
	}
}

func TestAnEntryOfOneIntervalLeavesNoTrace(t *testing.T) {
	store := newModelStore()
	ctx := modelContext(store)
	value, err := NewValue[int64](ctx, "v", nil)
	must0(t, err)
	useKey(ctx, "a")
	must0(t, value.Put(1))
	must0(t, value.Delete())
	if d := checkpointOf(t, store, value, 1, true); len(d) != 0 {
		t.Errorf("the delta has %v", d)
	}
	must0(t, value.Put(2))
	checkpointOf(t, store, value, 2, true)
	must0(t, value.Delete())
	if d := checkpointOf(t, store, value, 3, true); len(d) != 1 {
		t.Errorf("the delta has %d changes, want a deletion", len(d))
	}
}

// A deletion that the store does not have yet must hide what the store has.
func TestADeletedEntryStaysHiddenUntilTheStoreHasItsDeletion(t *testing.T) {
	store := newModelStore()
	ctx := modelContext(store)
	value, err := NewValue[int64](ctx, "v", nil)
	must0(t, err)
	useKey(ctx, "a")
	must0(t, value.Put(1))
	must0(t, value.Delete()) // queued as one without a trace
	must0(t, value.Put(2))
	checkpointOf(t, store, value, 1, true)
	must0(t, value.Delete())
	checkpointOf(t, store, value, 2, false)
	for i := range 20 { // each of these sweeps
		useKey(ctx, fmt.Sprint("other", i))
		must0(t, value.Put(1))
		must0(t, value.Delete())
	}
	checkpointOf(t, store, value, 3, false)
	value.Evict(0, math.MaxInt)
	for i := range 20 {
		useKey(ctx, fmt.Sprint("another", i))
		must0(t, value.Put(1))
		must0(t, value.Delete())
	}
	useKey(ctx, "a")
	if v, ok, err := value.Get(); ok || err != nil {
		t.Errorf("a deleted entry is back: %d (%v)", v, err)
	}
}

func TestDeletedEntriesLeaveTheMap(t *testing.T) {
	store := newModelStore()
	ctx := modelContext(store)
	window, err := NewWindow[int64](ctx, "w", nil)
	must0(t, err)
	timers, err := NewTimers(ctx, "t")
	must0(t, err)
	for i := range int64(100) {
		for k := range 10 {
			useKey(ctx, fmt.Sprint("k", k))
			must0(t, window.Put(i, 1))
			must0(t, timers.Add(i, 0))
			if i > 0 {
				must0(t, window.Delete(i-1))
				must0(t, timers.Delete(i-1, 0))
			}
		}
		checkpointOf(t, store, window, i+1, true)
		checkpointOf(t, store, timers, i+1, i%5 == 0)
	}
	if n := window.index.n; n > 50 || window.Entries() != 10 {
		t.Errorf("the map has %d cells for %d entries", n, window.Entries())
	}
	if n := timers.index.n; n > 50 || timers.Entries() != 10 {
		t.Errorf("the map has %d cells for %d timers", n, timers.Entries())
	}
	if n := len(timers.q.buckets); n > 200 {
		t.Errorf("the queue has %d times", n)
	}
	if window.Bytes() > 20_000 || window.Bytes() < 10*8 {
		t.Errorf("the table says it has %d bytes", window.Bytes())
	}
}

// What came after the last base and went does not wait for another one, and nothing is left of it in the queue of the deleted,
// whoever took note of what the store has: evictions do too.
func TestWhatComesAndGoesBetweenBasesLeavesNothing(t *testing.T) {
	for _, evicts := range []bool{false, true} {
		t.Run(fmt.Sprintf("evictions %t", evicts), func(t *testing.T) {
			store := newModelStore()
			ctx := modelContext(store)
			window, err := NewWindow[int64](ctx, "w", nil)
			must0(t, err)
			for i := range int64(200) {
				for k := range 10 {
					useKey(ctx, fmt.Sprint("k", k))
					_, _, err := window.Get(i)
					must0(t, err)
					must0(t, window.Put(i, 1))
					if i > 0 {
						must0(t, window.Delete(i-1))
					}
				}
				delta := modelDelta{}
				must0(t, window.Freeze(i+1).Encode(delta))
				store.add(encodeResult{checkpoint: i + 1, delta: delta})
				if i == 20 || i == 23 { // the one base of all: it begins and ends
					store.base()
				}
				if evicts {
					window.Evict(0, 1)
				}
			}
			if cells, queued := window.index.n, window.dead.len(); cells > 50 || queued > 50 {
				t.Errorf("there are %d cells and %d in the queue for %d entries", cells, queued, window.Entries())
			}
		})
	}
}

func TestAnEvictedTableReadsTheStore(t *testing.T) {
	store := newModelStore()
	ctx := modelContext(store)
	value, err := NewValue[string](ctx, "v", nil)
	must0(t, err)
	list, err := NewList[string](ctx, "l", nil)
	must0(t, err)
	useKey(ctx, "a")
	must0(t, value.Put("x"))
	must0(t, list.Set([]string{"p", "q"}))
	checkpointOf(t, store, value, 1, false)
	value.Evict(0, math.MaxInt)
	if value.Entries() != 1 {
		t.Fatal("an entry went that the store does not have")
	}
	must0(t, value.Put("x"))
	checkpointOf(t, store, value, 2, true)
	checkpointOf(t, store, list, 2, true)
	must0(t, list.Add("r"))
	value.Evict(0, math.MaxInt)
	list.Evict(0, math.MaxInt)
	if value.Entries() != 0 || value.Bytes() > 256 || list.Entries() != 3 {
		t.Errorf("%d values (%d bytes) and %d elements are left, want 0 (an empty index) and 3", value.Entries(), value.Bytes(), list.Entries())
	}
	if v, ok, err := value.Get(); v != "x" || !ok || err != nil {
		t.Errorf("read %q, %t, %v", v, ok, err)
	}
}

func TestAddingToAListCostsTheElement(t *testing.T) {
	store := newModelStore()
	ctx := modelContext(store)
	list, err := NewList[string](ctx, "l", nil)
	must0(t, err)
	useKey(ctx, "a")
	for i := range int64(100) {
		must0(t, list.Add("x"))
		if d := checkpointOf(t, store, list, i+1, i%10 == 0); len(d) != 1 {
			t.Fatalf("element %d: %d changes", i, len(d))
		}
	}
}

func TestChangesAreEncodedOnceAndAgainAfterAnError(t *testing.T) {
	ctx := modelContext(newModelStore())
	value, err := NewValue[int64](ctx, "v", nil)
	must0(t, err)
	useKey(ctx, "a")
	must0(t, value.Put(1))
	f := value.Freeze(1)
	if value.Freeze(2) != nil {
		t.Error("nothing changed, and there is something frozen")
	}
	full := modelDelta{storeKey(ctx.Group(), 0, "a", nil): nil}
	if err := f.Encode(full); err == nil || !strings.Contains(err.Error(), `state "v": key "a":`) {
		t.Errorf("the writer's error comes as %v", err)
	}
	must0(t, f.Encode(modelDelta{}))
	if err := f.Encode(modelDelta{}); !errors.Is(err, errEncodedTwice) {
		t.Errorf("encoded twice: %v", err)
	}
}

func TestDeclarationsAreChecked(t *testing.T) {
	if _, err := NewValue[int64](&Context{}, "v", nil); err == nil || !strings.Contains(err.Error(), "put a key_by before") {
		t.Errorf("a state without a key: %v", err)
	}
	ctx := modelContext(newModelStore())
	_, err := NewValue[int64](ctx, "v", nil)
	must0(t, err)
	if _, err := NewList[int64](ctx, "v", nil); err == nil || err.Error() != `state "v" is declared twice` {
		t.Errorf("a name twice: %v", err)
	}
	if len(ctx.Tables()) != 1 {
		t.Errorf("%d tables", len(ctx.Tables()))
	}
}

func TestMapKeysMustEqualThemselves(t *testing.T) {
	ctx := modelContext(newModelStore())
	m, err := NewMap[float64, int64](ctx, "m", nil, nil)
	must0(t, err)
	useKey(ctx, "a")
	zero := 0.0
	if err := m.Put(zero/zero, 1); err == nil {
		t.Error("NaN is a key")
	}
	if n, err := m.Len(); n != 0 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
}

// TestACellThatIsReplacedStillCameFromTheStore: while two checkpoints encode it, a change goes to another cell, which windows must
// not take for one that is new: their queue has its name already.
func TestACellThatIsReplacedStillCameFromTheStore(t *testing.T) {
	store := newModelStore()
	ctx := modelContext(store)
	before, err := NewWindow[int64](ctx, "w", nil)
	must0(t, err)
	useKey(ctx, "a")
	must0(t, before.Put(1, 10))
	checkpointOf(t, store, before, 1, true)
	ctx = modelContext(store) // a restart
	w, err := NewWindow[int64](ctx, "w", nil)
	must0(t, err)
	useKey(ctx, "a")
	if v, ok, err := w.Get(1); v != 10 || !ok || err != nil {
		t.Fatalf("restored %d, %t, %v", v, ok, err)
	}
	first := w.cur
	for checkpoint := int64(2); checkpoint < 5; checkpoint++ {
		must0(t, w.Put(1, 10*checkpoint))
		w.Freeze(checkpoint) // and nothing encodes it
	}
	if w.cur == first || first.flags&flagGone == 0 {
		t.Fatal("the cell was not replaced")
	}
	if w.cur.flags&flagLoaded == 0 || w.cur.number != first.number {
		t.Errorf("the cell in its place has flags %b and number %d, want flag %b and number %d", w.cur.flags, w.cur.number, flagLoaded, first.number)
	}
}

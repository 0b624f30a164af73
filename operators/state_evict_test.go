package operators

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirstream/weir/stream"
)

// TestAnEvictionLooksAtNoMoreThanItMay: whatever is hot, not in the store, or in the way of another entry.
func TestAnEvictionLooksAtNoMoreThanItMay(t *testing.T) {
	store := newModelStore()
	value, err := NewValue[int64](modelContext(store), "v", nil)
	must0(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 50_000 {
		useKey(value.ctx, fmt.Sprint(i))
		must0(t, value.Put(1))
		if i == 25_000 {
			checkpointOf(t, store, value, 1, true)
		}
	}
	for range 500 {
		looks, before := rng.IntN(100), value.index.n
		hand := value.hand
		value.Evict(0, looks)
		if gone := before - value.index.n; gone > looks {
			t.Fatalf("%d entries went, and %d were to be looked at", gone, looks)
		}
		// What is evicted moves others up; but for those the hand goes one slot a look, and never over an entry.
		if passed := slotsBetween(&value.index, hand, value.hand); passed > looks {
			t.Fatalf("the hand passed %d slots, and %d were to be looked at", passed, looks)
		}
	}
}

// slotsBetween is how many slots a walk passes from one hand to another, in an index whose parts did not change.
func slotsBetween[V any](x *index[V], from, to hand) (n int) {
	for x.part(from.at) != x.part(to.at) {
		p := x.part(from.at)
		n += len(p.slots) - from.slot
		from = hand{at: from.at&^(uint32(1)<<(32-p.depth)-1) + 1<<(32-p.depth)}
	}
	return n + to.slot - from.slot
}

// TestStateReturnsBelowItsBudget: with the work that the engine gives an eviction for each event, a state whose keys come and
// never return stays below its budget as long as the store gets their changes, and gets there within so many events.
func TestStateReturnsBelowItsBudget(t *testing.T) {
	store := &latestStore{}
	value, err := NewValue[int64](modelContext(store), "v", nil)
	must0(t, err)
	const budget, looks, interval = 1 << 20, 16, 1000
	key, checkpoint := 0, int64(0)
	event := func(applied bool) {
		useKey(value.ctx, fmt.Sprintf("k%07d", key))
		must0(t, value.Put(1))
		value.Evict(budget, looks)
		if key++; key%interval == 0 {
			checkpoint++
			if f := value.Freeze(checkpoint); f != nil {
				must0(t, f.Encode(discardChanges{}))
			}
			if applied {
				store.applied = checkpoint
			}
		}
		if key%1997 == 0 {
			if got, want := value.unapplied(), countUnapplied(&value.cells); got != want {
				t.Fatalf("%d entries are counted that the store does not have, there are %d", got, want)
			}
		}
	}
	for range 30_000 {
		event(true)
	}
	if over := value.Bytes() - budget; over > interval*2*value.cellBytes() {
		t.Fatalf("%d bytes over the budget, in which only the last interval cannot go", over)
	}
	for range 30_000 {
		event(false)
	}
	if !value.Evict(budget, looks) || value.Bytes() < 3*budget {
		t.Fatalf("%d bytes, and not stuck: entries went that the store does not have", value.Bytes())
	}
	store.applied = checkpoint
	excess := value.index.n - int(budget/value.cellBytes())
	for n := 0; value.Bytes() > budget; n++ {
		if event(true); n > 2*excess {
			t.Fatalf("still %d bytes after %d events, for %d entries that were too many", value.Bytes(), n, excess)
		}
	}
	if len(value.spare) > fewSpare {
		t.Errorf("%d cells are kept for use, in want of memory", len(value.spare))
	}
}

func countUnapplied[V any](t *cells[V]) (n int) {
	for i, p := range t.index.parts {
		if i > 0 && p == t.index.parts[i-1] {
			continue
		}
		for _, s := range p.slots {
			if s.c != nil && s.c.epoch > t.applied {
				n++
			}
		}
	}
	return n
}

// latestStore remembers nothing but what it has.
type latestStore struct {
	modelStore
	applied int64
}

func (s *latestStore) Applied() int64    { return s.applied }
func (s *latestStore) Empty(uint16) bool { return false }

func (s *latestStore) Lacks() (since, upTo int64) { return s.applied, s.applied }

type discardChanges struct{}

func (discardChanges) Put(stream.KeyGroup, uint16, string, []byte, []byte) error { return nil }
func (discardChanges) Delete(stream.KeyGroup, uint16, string, []byte) error      { return nil }

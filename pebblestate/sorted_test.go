package pebblestate

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirstream/weir/stream"
)

// What a base is written of is the same however few changes are sorted at a time, and the same as with all at once.
func TestABaseInPartsIsTheSameAsAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	var deltas []Delta
	for range 5 {
		w := newDelta(0, 0)
		for range 1000 {
			// Long keys and short ones, of which some are the beginning of others.
			key, group := fmt.Sprintf("%.*d", 1+rng.IntN(20), rng.IntN(50)), stream.KeyGroup(rng.IntN(30))
			var err error
			if rng.IntN(4) == 0 {
				err = w.Delete(group, 1, key, nil)
			} else {
				err = w.Put(group, 1, key, nil, []byte{byte(rng.Uint32())})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		deltas = append(deltas, Delta{Repr: w.Bytes()})
	}
	want, err := lastChanges(reprsOf(deltas))
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{1, 100, 700, 1 << 20} {
		i, calls := 0, 0
		err := lastInOrder(deltas, most, nil, func(some *changes) error {
			calls++
			for j := range some.len() {
				got, want := some.at(j), want.at(i)
				if !bytes.Equal(got.key, want.key) || !bytes.Equal(got.value, want.value) || got.deleted != want.deleted {
					t.Fatalf("at most %d: change %d is %q %x %t, want %q %x %t", most, i, got.key, got.value, got.deleted, want.key, want.value, want.deleted)
				}
				i++
			}
			return nil
		})
		if err != nil || i != want.len() {
			t.Errorf("at most %d: %d changes, want %d; %v", most, i, want.len(), err)
		}
		if wantCalls := map[int]int{1: 30, 1 << 20: 1}[most]; wantCalls > 0 && calls != wantCalls {
			t.Errorf("at most %d: %d parts, want %d", most, calls, wantCalls)
		}
	}
	if err := lastInOrder([]Delta{deltas[0], {Repr: deltas[1].Repr[:100]}}, 10, nil, func(*changes) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("half a delta: %v", err)
	}
	enough := errors.New("enough")
	if err := lastInOrder(deltas, 10, nil, func(*changes) error { return enough }); err != enough {
		t.Errorf("an error of who writes: %v", err)
	}
}

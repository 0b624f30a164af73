package pebblestate

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirstream/weir/stream"
)

// What a base is written of is the same however few changes are sorted at a time, and the same as with all at once, whether the
// cells are known or not. Deletions of what nobody has are left out if they are.
func TestABaseInPartsIsTheSameAsAtOnce(t *testing.T) {
	for _, numbered := range []bool{false, true} {
		t.Run(fmt.Sprintf("numbered %t", numbered), func(t *testing.T) { baseInParts(t, numbered) })
	}
}

func baseInParts(t *testing.T, numbered bool) {
	rng := rand.New(rand.NewPCG(3, 5))
	var deltas []Delta
	numbers := map[string]uint64{}
	for range 5 {
		w := newDelta(0, 0)
		written := map[string]bool{}
		for range 1000 {
			// Long keys and short ones, of which some are the beginning of others.
			key, group := fmt.Sprintf("%.*d", 1+rng.IntN(20), rng.IntN(50)), stream.KeyGroup(rng.IntN(30))
			if name := fmt.Sprintf("%d/%s", group, key); numbered {
				if written[name] { // a cell changes once in a checkpoint
					continue
				}
				if written[name] = true; numbers[name] == 0 {
					numbers[name] = uint64(len(numbers) + 1)
				}
				w.Cell(numbers[name])
			}
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
		deltas = append(deltas, Delta{Repr: w.Bytes(), cells: w.cells})
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
	deletions := 0
	must(t, lastInOrder(deltas, 100, everything, func(some *changes) error {
		for j := range some.len() {
			if some.at(j).deleted {
				deletions++
			}
		}
		return nil
	}))
	if numbered != (deletions == 0) {
		t.Errorf("%d deletions are left of what nobody has", deletions)
	}
	if err := lastInOrder([]Delta{deltas[0], {Repr: deltas[1].Repr[:100]}}, 10, nil, func(*changes) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("half a delta: %v", err)
	}
	enough := errors.New("enough")
	if err := lastInOrder(deltas, 10, nil, func(*changes) error { return enough }); err != enough {
		t.Errorf("an error of who writes: %v", err)
	}
}

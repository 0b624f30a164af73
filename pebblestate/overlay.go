package pebblestate

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"
)

// overlay is what was restored of deltas: entries are found by key at once, and sorted when somebody first scans. Keys are
// shared out to several tables by the first bits of their hash, so that several cores build them: this is most of what a
// recovery with many small deltas waits for.
type overlay struct {
	tables    []*entryTable
	shareBits uint8
	sorted    func() *changes
	// present are the states that have an entry.
	present []uint16
}

// manyChanges is from how many on more than one core builds the tables.
const manyChanges = 50_000

// veryManyChanges is from how many on every core builds them, whatever else there is to do: it takes longer than that.
const veryManyChanges = 4_000_000

var errEnded = errors.New("not needed any more")

// overlayToBe is an overlay that is being built.
type overlayToBe struct{ wait func() (*overlay, error) }

// startOverlay begins to build what is restored of deltas. Whoever calls it waits for it, also when the context has ended, which
// ends it soon.
func startOverlay(ctx context.Context, r Restore, drops func(key []byte) bool) overlayToBe {
	var o *overlay
	var err error
	built := make(chan struct{})
	go func() {
		defer close(built)
		var ended atomic.Bool
		defer context.AfterFunc(ctx, func() { ended.Store(true) })()
		o, err = buildOverlay(reprsOf(r.Deltas), drops, r.Beside, &ended)
		if ended.Load() {
			err = context.Cause(ctx)
		}
	}()
	return overlayToBe{func() (*overlay, error) { <-built; return o, err }}
}

// newOverlay reads deltas, oldest first. Changes of keys that drops says are left out.
func newOverlay(reprs [][]byte, drops func(key []byte) bool) (*overlay, error) {
	return buildOverlay(reprs, drops, false, new(atomic.Bool))
}

// buildOverlay is newOverlay; beside other work it leaves one core alone, if there are several: where all are busy, who waits
// for the network hears of an answer only when one of them has used up its time, 10 ms later. It ends early, without a use, if ended
// is set.
func buildOverlay(reprs [][]byte, drops func(key []byte) bool, beside bool, ended *atomic.Bool) (*overlay, error) {
	o := &overlay{}
	_, all, err := countChanges(reprs)
	if err != nil {
		return nil, err
	}
	cores := runtime.GOMAXPROCS(0)
	if beside && all < veryManyChanges {
		cores--
	}
	if all >= manyChanges {
		for 2<<o.shareBits <= min(cores, 8) {
			o.shareBits++
		}
	}
	var g errgroup.Group
	seen := make([]map[uint16]bool, 1<<o.shareBits)
	for share := range seen {
		t := &entryTable{share: uint64(share), shareBits: o.shareBits}
		o.tables = append(o.tables, t)
		g.Go(func() error {
			last, first := uint16(0), true
			seen[share] = map[uint16]bool{}
			t.take = func(c change) (bool, error) {
				if ended.Load() {
					return false, errEnded
				}
				_, state, _, _, err := splitKey(c.key)
				if err != nil || drops != nil && drops(c.key) {
					return false, err
				}
				if !c.deleted && (first || state != last) {
					last, first = state, false
					seen[share][state] = true
				}
				return true, nil
			}
			return t.build(reprs)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, states := range seen {
		for state := range states {
			if !slices.Contains(o.present, state) {
				o.present = append(o.present, state)
			}
		}
	}
	o.sorted = sync.OnceValue(func() *changes {
		c := &changes{reprs: reprs, entries: make([]entry, 0, o.len())}
		for _, t := range o.tables {
			c.entries = append(c.entries, t.c.entries...)
		}
		c.sort()
		return c
	})
	return o, nil
}

// get returns the change of a key.
func (o *overlay) get(key []byte) (change, bool) {
	hash := xxhash.Sum64(key)
	return o.tables[hash>>(64-o.shareBits)].get(hash, key)
}

func (o *overlay) len() (n int) {
	for _, t := range o.tables {
		n += t.c.len()
	}
	return n
}

package pebblestate

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestAKeySetHasWhatWasAdded and, within its room, little else; beyond it, more and more.
func TestAKeySetHasWhatWasAdded(t *testing.T) {
	const room = 1 << 18
	hash := func(i int) uint64 { return xxhash.Sum64(fmt.Appendf(nil, "key%d", i)) }
	s := newKeySet(room)
	added := 0
	for _, c := range []struct{ keys, wrong int }{{0, 0}, {1000, 5}, {100_000, 100}, {200_000, 400}, {600_000, 10_000}} {
		for ; added < c.keys; added++ {
			s.add(hash(added))
		}
		for i := 0; i < added; i += 1 + added/10_000 {
			if !s.has(hash(i)) {
				t.Fatalf("key %d of %d is missing", i, added)
			}
		}
		wrong := 0
		for i := range 10_000 {
			if s.has(hash(added + i)) {
				wrong++
			}
		}
		bytes := int64(0)
		for _, p := range *s.parts.Load() {
			bytes += int64(len(p.blocks)) * blockBytes
		}
		t.Logf("%d keys: %d bytes, %d of 10,000 wrong", added, bytes, wrong)
		if wrong > c.wrong || bytes > room {
			t.Errorf("%d keys: %d of 10,000 are there that were not added, want at most %d; %d bytes", added, wrong, c.wrong, bytes)
		}
	}
}

// TestWhatPebbleLacksIsLearntAfterARestore: while its keys are read in the background, and bases are written beside that, and
// when all are known, what is there is found and what is not there is not.
func TestWhatPebbleLacksIsLearntAfterARestore(t *testing.T) {
	const keys = 2000
	fs := vfs.NewMem()
	files := storage{}
	first := open(t, Options{Dir: "first", FS: fs}, Restore{})
	declare(t, first)
	var pairs []string
	for i := range keys {
		pairs = append(pairs, fmt.Sprint("old", i), "v")
	}
	add(t, first, 1, 0, pairs...)
	base := writeBase(t, first, 1)
	files.store(t, fs, base)

	b := open(t, Options{Dir: "second", FS: fs}, Restore{Checkpoint: 1, Base: base.Files, Fetch: files.fetch, States: first.States()})
	get := func(key string, want bool) {
		t.Helper()
		if _, ok, err := b.Get(groupOf(key), 0, key, nil); ok != want || err != nil {
			t.Errorf("%s: %t, want %t (%v)", key, ok, want, err)
		}
	}
	if b.keysKnown.Load() {
		t.Fatal("the keys of a base are known before anybody has read them")
	}
	b.misses.Store(manyMisses - 100)
	var readers sync.WaitGroup
	for r := range 2 {
		readers.Go(func() {
			for i := range 400 {
				get(fmt.Sprint("old", i%keys), true)
				get(fmt.Sprint("never", r, i), false)
			}
		})
	}
	for checkpoint := int64(2); checkpoint < 12; checkpoint++ {
		key := fmt.Sprint("new", checkpoint)
		add(t, b, checkpoint, 0, key, "v")
		if err := b.Release(writeBase(t, b, checkpoint)); err != nil {
			t.Fatal(err)
		}
		get(key, true)
	}
	readers.Wait()
	for deadline := time.Now().Add(10 * time.Second); !b.keysKnown.Load(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the keys of the base are not known")
		}
	}
	for i := range keys {
		get(fmt.Sprint("old", i), true)
	}
	for checkpoint := int64(2); checkpoint < 12; checkpoint++ {
		get(fmt.Sprint("new", checkpoint), true)
	}
	asked := b.misses.Load()
	for i := range 1000 {
		get(fmt.Sprint("not", i), false)
	}
	if n := b.misses.Load() - asked; n != 0 {
		t.Errorf("%d misses were counted when the keys were known", n)
	}
	// Pebble is not asked for what it lacks: it has a key now of which the set was not told.
	k := appendKey(nil, groupOf("hidden"), 0, "hidden", nil)
	if err := b.db.Set(k, []byte("v"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	get("hidden", false)
}

// TestAKeyThatPebbleLacksIsNotScanned: a scan finds all namespaces of a key, wherever they are, and does not ask Pebble for a key
// of which it has none.
func TestAKeyThatPebbleLacksIsNotScanned(t *testing.T) {
	fs, files := vfs.NewMem(), storage{}
	delta := func(b *Backend, key string, spaces ...string) *DeltaWriter {
		t.Helper()
		w := b.NewDelta()
		for _, s := range spaces {
			if err := w.Put(groupOf(key), 0, key, []byte(s), []byte("v")); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	first := open(t, Options{Dir: "first", FS: fs}, Restore{})
	declare(t, first)
	if err := first.AddDelta(1, delta(first, "a", "1", "2")); err != nil {
		t.Fatal(err)
	}
	base := writeBase(t, first, 1)
	files.store(t, fs, base)
	b := open(t, Options{Dir: "second", FS: fs}, Restore{
		Checkpoint: 2, Base: base.Files, Fetch: files.fetch, States: first.States(),
		Deltas: []Delta{{First: 2, Checkpoint: 2, Repr: delta(first, "b", "3").Bytes()}},
	})
	scan := func(key, want string) {
		t.Helper()
		got := ""
		err := b.Scan(groupOf(key), 0, key, func(namespace, _ []byte) error {
			got += string(namespace)
			return nil
		})
		if err != nil || got != want {
			t.Errorf("key %s: got namespaces %q, %v, want %q", key, got, err, want)
		}
	}
	all := func() {
		t.Helper()
		scan("a", "12")
		scan("b", "3")
		scan("d", "")
	}
	all()
	b.learnKeys()
	if !b.keysKnown.Load() {
		t.Fatal("the keys of the base are not known")
	}
	all()
	if err := b.AddDelta(3, delta(b, "c", "4", "5")); err != nil {
		t.Fatal(err)
	}
	if err := b.Release(writeBase(t, b, 3)); err != nil {
		t.Fatal(err)
	}
	all()
	scan("c", "45")
	// Pebble has a key now of which the set was not told.
	if err := b.db.Set(appendKey(nil, groupOf("hidden"), 0, "hidden", []byte("6")), []byte("v"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	scan("hidden", "")
}

// TestWhatCameAndWentBetweenBasesDoesNotReachPebble: neither its value nor its deletion, whether the cells are known or not. What a
// base has is deleted there.
func TestWhatCameAndWentBetweenBasesDoesNotReachPebble(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		t.Run(fmt.Sprintf("numbered %t", numbered), func(t *testing.T) {
			b := open(t, Options{Dir: "d", FS: vfs.NewMem()}, Restore{})
			declare(t, b)
			keys := []string{"stays", "goes", "short", "lived"}
			change := func(checkpoint int64, deleted bool, some ...string) {
				t.Helper()
				w := b.NewDelta()
				for _, k := range some {
					if numbered {
						w.Cell(uint64(1 + slices.Index(keys, k)))
					}
					if deleted {
						must(t, w.Delete(groupOf(k), 0, k, nil))
					} else {
						must(t, w.Put(groupOf(k), 0, k, nil, []byte("v")))
					}
				}
				must(t, b.AddDelta(checkpoint, w))
			}
			change(1, false, "stays", "goes")
			must(t, b.Release(writeBase(t, b, 1)))
			change(2, false, "short", "lived")
			change(3, true, "short", "lived", "goes")
			must(t, b.Release(writeBase(t, b, 3)))
			if n := b.db.Metrics().Keys.TombstoneCount; n > 1 { // none, if Pebble has compacted meanwhile
				t.Errorf("Pebble has %d deletions, want that of the key that it had", n)
			}
			for i, k := range keys {
				if _, ok, err := b.Get(groupOf(k), 0, k, nil); ok != (i == 0) || err != nil {
					t.Errorf("%s is there: %t, error %v, want %t", k, ok, err, i == 0)
				}
			}
		})
	}
}

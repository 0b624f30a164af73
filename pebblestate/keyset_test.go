package pebblestate

import (
	"fmt"
	"runtime"
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

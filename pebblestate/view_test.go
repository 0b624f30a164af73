package pebblestate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

func view(t testing.TB, fs vfs.FS, restore Restore) *View {
	t.Helper()
	v, err := OpenView(t.Context(), Options{Dir: "look", FS: fs}, restore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := v.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if _, err := fs.Stat("look"); err == nil {
			t.Error("the directory is still there")
		}
	})
	return v
}

// What a view gives is what a plain map says, in order, wherever the entries are: in the base, in a delta, in both.
func TestAViewGivesEveryEntryInOrder(t *testing.T) {
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		fs, files := vfs.NewMem(), storage{}
		b := open(t, Options{Dir: "d", FS: fs}, Restore{})
		for i := range 3 {
			if _, err := b.StateID("op", StateDesc{Name: fmt.Sprint(i), Kind: "map", Type: "x", Version: 1}); err != nil {
				t.Fatal(err)
			}
		}
		model := map[uint16]map[string]string{0: {}, 1: {}, 2: {}}
		var base BaseFiles
		for checkpoint := int64(1); checkpoint < 8; checkpoint++ {
			w := b.NewDelta()
			for range 200 {
				id, key, space, value := uint16(rnd.IntN(3)), fmt.Sprint(rnd.IntN(300)), fmt.Sprint(rnd.IntN(3)), fmt.Sprint(rnd.Int())
				var err error
				if rnd.IntN(4) == 0 {
					delete(model[id], key+"/"+space)
					err = w.Delete(groupOf(key), id, key, []byte(space))
				} else {
					model[id][key+"/"+space] = value
					err = w.Put(groupOf(key), id, key, []byte(space), []byte(value))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := b.AddDelta(checkpoint, w); err != nil {
				t.Fatal(err)
			}
			if uint64(checkpoint) == seed {
				base = writeBase(t, b, checkpoint)
				files.store(t, fs, base)
			}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			v := view(t, fs, Restore{Checkpoint: 7, Base: base.Files, Fetch: files.fetch, Deltas: b.Deltas(), States: b.States()[:2], Dropped: []uint16{2}})
			if len(v.States()) != 2 {
				t.Errorf("states %v", v.States())
			}
			for id := range uint16(2) {
				got := map[string]string{}
				var before Entry
				for e, err := range v.Entries(t.Context(), id) {
					if err != nil {
						t.Fatal(err)
					}
					if len(got) > 0 && before.Compare(&e) >= 0 {
						t.Errorf("%d %s comes after %d %s", e.Group, e.name, before.Group, before.name)
					}
					if e.Group != groupOf(string(e.Key)) {
						t.Errorf("key %s is in group %d", e.Key, e.Group)
					}
					before = Entry{Group: e.Group, name: append([]byte(nil), e.name...)}
					got[string(e.Key)+"/"+string(e.Namespace)] = string(e.Value)
				}
				if !maps.Equal(got, model[id]) {
					t.Errorf("state %d is\n%v\nwant\n%v", id, got, model[id])
				}
				for k := range 300 {
					key := fmt.Sprint(k)
					n := 0
					for e, err := range v.Key(t.Context(), groupOf(key), id, key) {
						if n++; err != nil || model[id][key+"/"+string(e.Namespace)] != string(e.Value) || string(e.Key) != key {
							t.Fatalf("key %s: %s: %s, %v", key, e.Namespace, e.Value, err)
						}
					}
					for space := range 3 {
						if _, ok := model[id][fmt.Sprint(key, "/", space)]; ok {
							n--
						}
					}
					if n != 0 {
						t.Errorf("key %s: %d entries too many", key, n)
					}
				}
			}
		})
	}
}

func TestAViewMayBeLeftInTheMiddle(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	declare(t, b)
	add(t, b, 1, 0, "a", "1", "b", "2", "c", "3")
	v := view(t, fs, Restore{Checkpoint: 1, Deltas: b.Deltas(), States: b.States()})
	for _, err := range v.Entries(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	next, stop := iter.Pull2(v.Entries(t.Context(), 0))
	if _, err, ok := next(); err != nil || !ok {
		t.Error(err, ok)
	}
	stop()
	enough := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	var last error
	for _, err := range v.Entries(ctx, 0) {
		last = err
	}
	if !errors.Is(last, enough) {
		t.Error(last)
	}
	for range v.Entries(t.Context(), 1) {
		t.Error("a state without entries has one")
	}
}

func TestAViewOfADamagedBaseIsRefusedAndLeavesNothing(t *testing.T) {
	fs, files := vfs.NewMem(), storage{}
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	declare(t, b)
	add(t, b, 1, 0, "a", "1")
	base := writeBase(t, b, 1)
	files.store(t, fs, base)
	for _, f := range base.Files {
		damaged := maps.Clone(files)
		content := append([]byte{}, damaged[f.Hash]...)
		if len(content) == 0 {
			content = []byte{0}
		}
		content[len(content)/2] ^= 1
		damaged[f.Hash] = content
		_, err := OpenView(t.Context(), Options{Dir: "look", FS: fs}, Restore{Checkpoint: 1, Base: base.Files, Fetch: damaged.fetch, States: b.States()})
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", f.Name, err)
		}
		if _, err := fs.Stat("look"); err == nil {
			t.Errorf("%s: the directory is still there", f.Name)
		}
	}
}

// A scan asks only those key groups that there may be.
func TestTheLastKeyGroupIsFound(t *testing.T) {
	fs, files := vfs.NewMem(), storage{}
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	declare(t, b)
	put := func(checkpoint int64, group stream.KeyGroup) {
		w := b.NewDelta()
		if err := w.Put(group, 0, "k", nil, []byte("v")); err != nil {
			t.Fatal(err)
		}
		if err := b.AddDelta(checkpoint, w); err != nil {
			t.Fatal(err)
		}
	}
	count := func(v *View) (n int) {
		for _, err := range v.Entries(t.Context(), 0) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	put(1, 32767)
	base := writeBase(t, b, 1)
	files.store(t, fs, base)
	r := Restore{Checkpoint: 1, Base: base.Files, Fetch: files.fetch, States: b.States()}
	t.Run("in the base", func(t *testing.T) {
		if n := count(view(t, fs, r)); n != 1 {
			t.Error(n)
		}
	})
	put(2, 3)
	r.Checkpoint, r.Deltas = 2, b.Deltas()
	t.Run("and a lower one in a delta", func(t *testing.T) {
		if n := count(view(t, fs, r)); n != 2 {
			t.Error(n)
		}
	})
	r.Base = nil
	t.Run("and without the base", func(t *testing.T) {
		if n := count(view(t, fs, r)); n != 1 {
			t.Error(n)
		}
	})
}

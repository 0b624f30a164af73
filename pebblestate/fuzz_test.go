package pebblestate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

// someDelta is a delta of a few changes.
func someDelta() []byte {
	w := newDelta(0, 0)
	for i, key := range []string{"a", "b", "", "a"} {
		if err := w.Put(stream.KeyGroup(i), 0, key, []byte{byte(i)}, []byte(key)); err != nil {
			panic(err)
		}
	}
	if err := w.Delete(1, 0, "b", []byte{1}); err != nil {
		panic(err)
	}
	return w.Bytes()
}

// Whatever is taken for two deltas: the last change of each key, sorted, which is the same when they are merged and read
// again, or damage.
func FuzzDeltas(f *testing.F) {
	f.Add(someDelta(), someDelta())
	f.Add(someDelta()[:20], []byte{})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, someDelta())
	f.Fuzz(func(t *testing.T, first, second []byte) {
		all, err := lastChanges([][]byte{first, second})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		want := map[string]string{}
		for _, repr := range [][]byte{first, second} {
			r, err := readDelta(repr)
			if err != nil {
				t.Fatal(err)
			}
			for {
				c, _, ok, err := r.next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				want[string(c.key)] = fmt.Sprint(c.deleted, c.value)
			}
		}
		w := newDelta(0, 0)
		got := map[string]string{}
		for i := range all.len() {
			c := all.at(i)
			if i > 0 && bytes.Compare(all.at(i-1).key, c.key) >= 0 {
				t.Fatalf("key %x comes before %x", all.at(i-1).key, c.key)
			}
			if all.search(c.key) != i {
				t.Errorf("key %x is not found", c.key)
			}
			got[string(c.key)] = fmt.Sprint(c.deleted, c.value)
			rawChange(w, c)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
		again, err := lastChanges([][]byte{w.Bytes()})
		if err != nil || again.len() != all.len() {
			t.Errorf("merged: %v", err)
		}
	})
}

// Keys are taken apart as they were made, or are no keys; and they are sorted by key group first.
func FuzzStateKeys(f *testing.F) {
	f.Add(uint16(3), uint16(1), "user", []byte("window"), []byte{0, 3, 0, 1, 4, 'u', 's', 'e', 'r'})
	f.Add(uint16(0), uint16(0), "", []byte{}, []byte{0, 0, 0, 0, 0x80})
	f.Fuzz(func(t *testing.T, group, state uint16, key string, namespace, other []byte) {
		b := appendKey(nil, stream.KeyGroup(group), state, key, namespace)
		g, s, k, ns, err := splitKey(b)
		if err != nil || uint16(g) != group || s != state || string(k) != key || !bytes.Equal(ns, namespace) || len(b) != keyLen(key, namespace) {
			t.Errorf("%d %d %q %x came back as %d %d %q %x (%v)", group, state, key, namespace, g, s, k, ns, err)
		}
		if g, s, k, ns, err = splitKey(other); err != nil {
			return
		}
		if uint16(g) < group && bytes.Compare(other, b) > 0 {
			t.Errorf("%x of group %d comes after %x of group %d", other, g, b, group)
		}
		// Lengths have one form only when they are written; a longer one is read all the same.
		if again := appendKey(nil, g, s, string(k), ns); len(again) == len(other) && !bytes.Equal(again, other) {
			t.Errorf("%x came back as %x", other, again)
		}
	})
}

// A restore of any delta answers every read or says that it is damaged, and so does the base that is made of it.
func FuzzRestoreOfAnyDelta(f *testing.F) {
	f.Add(someDelta())
	w := newDelta(0, 0)
	rawChange(w, change{key: []byte("no state key"), value: []byte("x")})
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, repr []byte) {
		b, err := Open(t.Context(), Options{Dir: "d", FS: vfs.NewMem()}, Restore{
			Checkpoint: 1, Deltas: []Delta{{First: 1, Checkpoint: 1, Repr: repr}},
			States: []State{{ID: 0, Operator: "count", StateDesc: StateDesc{Name: "n", Kind: "value", Type: "cbor:string", Version: 1}}},
		})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		defer b.Close()
		if _, err := b.StateID("count", StateDesc{Name: "n", Kind: "value", Type: "cbor:string", Version: 1}); err != nil {
			t.Fatal(err)
		}
		read := func() (n int) {
			seen := func(stream.KeyGroup, string, []byte, []byte) error { n++; return nil }
			if err := b.ScanState(everyGroup, 0, seen); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if _, _, err := b.Get(0, 0, "a", []byte{0}); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if err := b.Scan(0, 0, "a", func([]byte, []byte) error { return nil }); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return n
		}
		before := read()
		if binary.LittleEndian.Uint32(repr[8:]) > 0 {
			if _, err := b.WriteBase(t.Context(), 1); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			} else if err == nil {
				if after := read(); after != before {
					t.Errorf("%d entries before the base, %d after it", before, after)
				}
			}
		}
	})
}

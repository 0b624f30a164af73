package pebblestate

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

// A random history of changes, merges, bases, restarts and drops of states: the states that stay are what a plain map says,
// no number is given out twice, and after a base nothing of a dropped state is left in Pebble or in the deltas.
func TestDroppedStatesGoAndTheOthersStay(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := &dropping{t: t, rnd: rand.New(rand.NewPCG(seed, 3)), fs: vfs.NewMem(), files: storage{}, model: map[uint16]map[string]string{}, used: map[uint16]bool{}}
			d.history()
		})
	}
}

type dropping struct {
	t          *testing.T
	rnd        *rand.Rand
	fs         vfs.FS
	files      storage
	b          *Backend
	base       BaseFiles
	checkpoint int64
	names      int
	model      map[uint16]map[string]string
	used       map[uint16]bool
	dropped    []uint16
}

func (d *dropping) opts() Options {
	return Options{Dir: "shard", FS: d.fs, CacheBytes: 4 << 20}
}

func (d *dropping) history() {
	d.b = open(d.t, d.opts(), Restore{})
	for range 4 {
		d.declare()
	}
	for range 80 {
		switch n := d.rnd.IntN(12); {
		case n < 6:
			d.change()
		case n < 7:
			if _, err := d.b.MergeDeltas(0); err != nil {
				d.t.Fatal(err)
			}
		case n < 8:
			d.writeBase(max(0, d.checkpoint-int64(d.rnd.IntN(3))))
		case n < 9:
			d.declare()
		default:
			d.restart(d.rnd.IntN(2) == 0)
		}
		d.compare()
	}
	d.restart(true)
	d.writeBase(d.checkpoint)
	d.compare()
	d.nothingLeft()
	d.restart(false) // from the base alone
	d.compare()
	d.nothingLeft()
}

func (d *dropping) declare() {
	d.names++
	id, err := d.b.StateID("op", StateDesc{Name: fmt.Sprint(d.names), Kind: "value", Type: "cbor:string", Version: 1})
	if err != nil {
		d.t.Fatal(err)
	}
	if d.used[id] {
		d.t.Fatalf("number %d is given out again", id)
	}
	d.used[id], d.model[id] = true, map[string]string{}
}

func (d *dropping) change() {
	d.checkpoint++
	w := d.b.NewDelta()
	for _, id := range slices.Sorted(maps.Keys(d.model)) {
		for _, k := range d.rnd.Perm(30)[:d.rnd.IntN(12)] {
			key, value := fmt.Sprintf("key-%d", k), fmt.Sprint(d.rnd.Int())
			var err error
			if d.rnd.IntN(3) == 0 {
				delete(d.model[id], key)
				err = w.Delete(groupOf(key), id, key, nil)
			} else {
				d.model[id][key] = value
				err = w.Put(groupOf(key), id, key, nil, []byte(value))
			}
			if err != nil {
				d.t.Fatal(err)
			}
		}
	}
	if err := d.b.AddDelta(d.checkpoint, w); err != nil {
		d.t.Fatal(err)
	}
}

func (d *dropping) writeBase(upTo int64) {
	base := writeBase(d.t, d.b, upTo)
	d.files.store(d.t, d.fs, base)
	if err := d.b.Release(base); err != nil {
		d.t.Fatal(err)
	}
	d.base = base
}

// restart goes on with all states, or without one of them.
func (d *dropping) restart(drop bool) {
	r := Restore{Checkpoint: d.checkpoint, Deltas: d.b.Deltas(), States: d.b.States(), Dropped: d.b.Dropped(), Base: d.base.Files, Fetch: d.files.fetch}
	if n := len(r.States); drop && n > 1 {
		gone := r.States[d.rnd.IntN(n)].ID
		r.States = slices.DeleteFunc(r.States, func(s State) bool { return s.ID == gone })
		r.Dropped = append([]uint16{gone}, r.Dropped...)
		d.dropped = append(d.dropped, gone)
		delete(d.model, gone)
	}
	if err := d.b.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.b = open(d.t, d.opts(), r)
	if got, want := d.b.Dropped(), slices.Sorted(slices.Values(d.dropped)); !slices.Equal(got, want) {
		d.t.Fatalf("dropped %v, want %v", got, want)
	}
}

func (d *dropping) compare() {
	d.t.Helper()
	for id, want := range d.model {
		// Changes since the restart are in the live maps, not here: restored ones and those of a base are.
		if d.b.Applied() < d.checkpoint {
			continue
		}
		if got := dump(d.t, d.b, everyGroup, id); !maps.Equal(got, want) {
			d.t.Fatalf("state %d is\n%v\nwant\n%v", id, got, want)
		}
	}
}

func (d *dropping) nothingLeft() {
	d.t.Helper()
	it, err := d.b.db.NewIter(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if d.b.drops(it.Key()) {
			d.t.Errorf("Pebble has %x of a dropped state", it.Key())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		d.t.Error(err)
	}
	for _, delta := range d.b.Deltas() {
		r, err := readDelta(delta.Repr)
		for err == nil {
			c, _, ok, e := r.next()
			if err = e; !ok {
				break
			}
			if d.b.drops(c.key) {
				d.t.Errorf("a delta has %x of a dropped state", c.key)
			}
		}
		if err != nil {
			d.t.Error(err)
		}
	}
}

func TestANumberIsNotInUseAndDroppedAtOnce(t *testing.T) {
	_, err := Open(t.Context(), Options{Dir: "d", FS: vfs.NewMem()}, Restore{States: []State{{ID: 3, Operator: "a"}}, Dropped: []uint16{3}})
	if !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// The last number is one like any other.
func TestTheLastNumberMayBeDropped(t *testing.T) {
	fs, files := vfs.NewMem(), storage{}
	b := open(t, Options{Dir: "d", FS: fs}, Restore{States: []State{{ID: 65535, Operator: "a"}}})
	w := b.NewDelta()
	for group := range stream.KeyGroup(3) {
		if err := w.Put(group, 65535, "k", nil, []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AddDelta(1, w); err != nil {
		t.Fatal(err)
	}
	base := writeBase(t, b, 1)
	files.store(t, fs, base)
	d := &dropping{t: t, b: open(t, Options{Dir: "e", FS: fs}, Restore{Checkpoint: 1, Base: base.Files, Fetch: files.fetch, Dropped: []uint16{65535}})}
	writeBase(t, d.b, 1)
	d.nothingLeft()
	if _, err := d.b.StateID("a", StateDesc{Name: "n"}); err == nil {
		t.Error("there is a number left")
	}
}

func TestAMergeLeavesDroppedStatesOut(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	declare(t, b)
	add(t, b, 1, 0, "a", "1")
	add(t, b, 2, 1, "b", "2")
	add(t, b, 3, 1, "c", "3", "b", "-")
	d := &dropping{t: t, b: open(t, Options{Dir: "e", FS: fs}, Restore{Checkpoint: 3, Deltas: b.Deltas(), States: b.States(), Dropped: []uint16{1}})}
	if _, err := d.b.MergeDeltas(0); err != nil {
		t.Fatal(err)
	}
	d.nothingLeft()
	if got, want := dump(t, d.b, everyGroup, 0), map[string]string{"a": "1"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

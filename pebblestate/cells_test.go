package pebblestate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

// TestNumbersOfCells: what was set is read again, whatever their upper halves, with holes and beyond the end.
func TestNumbersOfCells(t *testing.T) {
	numbers := []uint64{1, 7, 0, 1 << 32, 1<<32 + 1, 5, 0, 1 << 40, 1 << 40}
	var c cellNumbers
	for i, n := range numbers {
		if n != 0 { // what is not known is left out
			c.set(i, 1<<50+3)
			c.set(i, n) // said again
		}
	}
	r := cellReader{cells: &c}
	for i, want := range append(numbers, 0, 0) {
		if got := r.next(); got != want {
			t.Errorf("change %d has number %d, want %d", i, got, want)
		}
	}
}

// TestNumbersFarApartAreNoHelp: then it is done by key, with the same outcome.
func TestNumbersFarApartAreNoHelp(t *testing.T) {
	for name, step := range map[string]uint64{"each in a page of its own": cellPage, "beyond any table": 1 << 50} {
		t.Run(name, func(t *testing.T) {
			var deltas []Delta
			for d := range 3 {
				w := newDelta(0, 0)
				for i := range 100 {
					w.Cell(1 + uint64(i)*step)
					key := fmt.Sprint("key", i)
					if err := w.Put(groupOf(key), 0, key, nil, fmt.Append(nil, d)); err != nil {
						t.Fatal(err)
					}
				}
				deltas = append(deltas, Delta{First: int64(d + 1), Checkpoint: int64(d + 1), Repr: w.Bytes(), cells: w.cells})
			}
			if table, unknown := lastDeltas(deltas); table != nil || unknown > 0 {
				t.Errorf("a table was made, %d changes have no number", unknown)
			}
			merged, err := mergeDeltas(deltas, everything, nothing)
			if err != nil || merged.changes() != 100 {
				t.Errorf("%d changes, error %v, want 100", merged.changes(), err)
			}
		})
	}
}

// TestMergedDeltas: whatever is merged when, a restore finds the last value of each key. Cells come and go as in the live maps: an
// entry has another number when its cell was forgotten, and some deltas have none, as after a restart. Bases are made of some.
func TestMergedDeltas(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			b := open(t, Options{Dir: "d", FS: vfs.NewMem()}, Restore{})
			declare(t, b)
			want, cells, next := map[string]string{}, map[string]uint64{}, uint64(1<<32-cellPage)
			keys, unknown := 1+rng.IntN(40), rng.IntN(12)
			for checkpoint := int64(1); checkpoint < 30; checkpoint++ {
				w, changed := b.NewDelta(), map[string]bool{}
				for range rng.IntN(30) {
					key := fmt.Sprint("key", rng.IntN(keys))
					_, there := want[key]
					if changed[key] {
						continue
					}
					changed[key] = true
					if cells[key] == 0 {
						next++
						cells[key] = next
					}
					if int(checkpoint) > unknown {
						w.Cell(cells[key])
					}
					var err error
					if there && rng.IntN(3) == 0 {
						delete(want, key)
						err = w.Delete(groupOf(key), 0, key, nil)
						if rng.IntN(2) == 0 {
							delete(cells, key) // forgotten
						}
					} else {
						want[key] = fmt.Sprint("value", checkpoint)
						err = w.Put(groupOf(key), 0, key, nil, []byte(want[key]))
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := b.AddDelta(checkpoint, w); err != nil {
					t.Fatal(err)
				}
				if n := len(b.Deltas()); rng.IntN(3) == 0 && n > 1 {
					from := rng.IntN(n - 1)
					repr, err := b.MergeDeltas(from)
					if err != nil {
						t.Fatal(err)
					}
					if last := b.Deltas()[from]; len(b.Deltas()) != from+1 || &last.Repr[0] != &repr[0] {
						t.Fatalf("%d deltas after merging from %d", len(b.Deltas()), from)
					}
				}
				if rng.IntN(8) == 0 {
					base := writeBase(t, b, checkpoint)
					if err := b.Release(base); err != nil {
						t.Fatal(err)
					}
					maps.DeleteFunc(cells, func(string, uint64) bool { return rng.IntN(2) == 0 }) // evicted
				}
				if got := valuesOf(t, b); !maps.Equal(got, want) {
					t.Fatalf("checkpoint %d: got %v, want %v", checkpoint, got, want)
				}
			}
			if unknown > 0 {
				return
			}
			// When all become one, no deletion is left but of what a base has had.
			if _, err := b.MergeDeltas(0); err != nil {
				t.Fatal(err)
			}
			all, err := lastChanges(reprsOf(b.Deltas()))
			if err != nil {
				t.Fatal(err)
			}
			for i := range all.len() {
				if c := all.at(i); c.deleted && b.absent(c.key) {
					t.Errorf("the deletion of %x is left", c.key)
				}
			}
		})
	}
}

// valuesOf is what a restore of the base and the deltas makes readable.
func valuesOf(t *testing.T, b *Backend) map[string]string {
	t.Helper()
	all, err := lastChanges(reprsOf(b.Deltas()))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	groups := stream.KeyGroupRange{First: 0, Last: stream.DefaultKeyGroups - 1}
	err = b.ScanState(groups, 0, func(_ stream.KeyGroup, key string, _, value []byte) error {
		values[key] = string(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.len() {
		c := all.at(i)
		_, _, key, _, err := splitKey(c.key)
		if err != nil {
			t.Fatal(err)
		}
		if delete(values, string(key)); !c.deleted {
			values[string(key)] = string(c.value)
		}
	}
	return values
}

// TestWhatIsWrittenAgainGrowsByWhatHasNoNumber: once most changes are numbered, the others stay until the next base, and no more.
func TestWhatIsWrittenAgainGrowsByWhatHasNoNumber(t *testing.T) {
	b := open(t, Options{Dir: "d", FS: vfs.NewMem()}, Restore{})
	declare(t, b)
	put := func(checkpoint int64, from, to int, numbered bool) {
		t.Helper()
		w := b.NewDelta()
		for i := from; i < to; i++ {
			if numbered {
				w.Cell(uint64(cellPage + i))
			}
			key := fmt.Sprint("key", i)
			if err := w.Put(groupOf(key), 0, key, nil, fmt.Append(nil, checkpoint)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.AddDelta(checkpoint, w); err != nil {
			t.Fatal(err)
		}
	}
	put(1, 0, 100, false) // what was restored
	var counts []int
	for checkpoint := int64(2); checkpoint < 20; checkpoint++ {
		put(checkpoint, 10, 100, true)
		if checkpoint%4 == 0 {
			if _, err := b.MergeDeltas(0); err != nil {
				t.Fatal(err)
			}
			counts = append(counts, b.Deltas()[0].changes())
		}
	}
	if want := []int{100, 100, 100, 100}; !slices.Equal(counts, want) {
		t.Errorf("changes after each merge: %v, want %v", counts, want)
	}
}

// BenchmarkMergeDeltas merges 36 deltas of 50,000 changes of 200,000 cells at random, in 50 blocks of numbers.
func BenchmarkMergeDeltas(b *testing.B) {
	numbered := make([]Delta, 36)
	rng := rand.New(rand.NewPCG(1, 2))
	for i, repr := range benchDeltas() {
		numbered[i] = Delta{First: int64(i + 1), Checkpoint: int64(i + 1), Repr: repr}
		for at := range 50_000 {
			numbered[i].cells.set(at, uint64(cellPage+rng.IntN(200_000)))
		}
	}
	for name, deltas := range map[string][]Delta{"by number": numbered, "by key": nil} {
		if deltas == nil {
			for _, d := range numbered {
				d.cells = cellNumbers{}
				deltas = append(deltas, d)
			}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := mergeDeltas(deltas, everything, nothing); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(36*50_000), "ns/change")
		})
	}
}

func everything([]byte) bool { return true }

func nothing([]byte) bool { return false }

// TestABackendSaysWhatItLacks: from a base's beginning on, though it is written later, what it has counts, and what was restored.
func TestABackendSaysWhatItLacks(t *testing.T) {
	lacks := func(b *Backend, since, upTo int64) {
		t.Helper()
		if s, u := b.Lacks(); s != since || u != upTo {
			t.Errorf("lacks what was new after %d and deleted up to %d, want %d and %d", s, u, since, upTo)
		}
	}
	fs, files := vfs.NewMem(), storage{}
	b := open(t, Options{Dir: "first", FS: fs}, Restore{})
	declare(t, b)
	lacks(b, 0, 0)
	add(t, b, 2, 0, "a", "v")
	lacks(b, 0, 2)
	b.BeginBase(2)
	lacks(b, 2, 2)
	add(t, b, 3, 0, "b", "v")
	lacks(b, 2, 3)
	base := writeBase(t, b, 2)
	lacks(b, 2, 3)
	files.store(t, fs, base)
	lacks(open(t, Options{Dir: "second", FS: fs}, Restore{Checkpoint: 7, Base: base.Files, Fetch: files.fetch, States: b.States()}), 7, 7)
	lacks(open(t, Options{Dir: "third", FS: fs}, Restore{Checkpoint: 7, Deltas: b.Deltas(), States: b.States()}), 7, 7)
	lacks(open(t, Options{Dir: "fourth", FS: fs}, Restore{Checkpoint: 7}), 0, 7)
}

package pebblestate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

// One random history of changes, deltas, merges, bases and restarts; a plain map says what must be read.
func TestWhatIsRestoredIsWhatWasWritten(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			history(t, seed)
		})
	}
}

func history(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	fs := vfs.NewMem()
	files := storage{}
	opts := Options{Dir: "shard", FS: fs, CacheBytes: 4 << 20}
	if seed%2 == 0 {
		opts.CacheDir = "cache"
	}
	b := open(t, opts, Restore{})
	declare(t, b)
	var restore Restore
	model := make(map[string]string) // as of the last checkpoint
	checkpoint := int64(0)
	for range 60 {
		switch n := rnd.IntN(10); {
		case n < 6:
			checkpoint++
			w := b.NewDelta()
			for _, k := range rnd.Perm(40)[:rnd.IntN(20)] {
				key, value := fmt.Sprintf("key-%d", k), fmt.Sprint(rnd.Int())
				space := []byte(fmt.Sprint(k % 3))
				var err error
				if rnd.IntN(3) == 0 {
					delete(model, key+"/"+string(space))
					err = w.Delete(groupOf(key), 0, key, space)
				} else {
					model[key+"/"+string(space)] = value
					err = w.Put(groupOf(key), 0, key, space, []byte(value))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := b.AddDelta(checkpoint, w); err != nil {
				t.Fatal(err)
			}
		case n < 7:
			if _, err := b.MergeDeltas(0); err != nil {
				t.Fatal(err)
			}
		case n < 8:
			upTo := max(0, checkpoint-int64(rnd.IntN(3)))
			base := writeBase(t, b, upTo)
			files.store(t, fs, base)
			if err := b.Release(base); err != nil {
				t.Fatal(err)
			}
			restore.Base, restore.Fetch = base.Files, files.fetch
		default:
			restore.Checkpoint, restore.Deltas, restore.States = checkpoint, b.Deltas(), b.States()
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b = open(t, opts, restore)
			declare(t, b)
			compare(t, b, model)
		}
	}
	// Everything in one base.
	base := writeBase(t, b, checkpoint)
	if b.Applied() != checkpoint || len(b.Deltas()) != 0 {
		t.Fatalf("after a base of checkpoint %d: applied %d, %d deltas left", checkpoint, b.Applied(), len(b.Deltas()))
	}
	compare(t, b, model)
	files.store(t, fs, base)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	compare(t, open(t, opts, Restore{Checkpoint: checkpoint, Base: base.Files, Fetch: files.fetch, States: b.States()}), model)
}

// compare reads the state in each of the ways there are.
func compare(t *testing.T, b *Backend, model map[string]string) {
	t.Helper()
	if got := dump(t, b, everyGroup, 0); !maps.Equal(got, model) {
		t.Fatalf("a scan of the state gives\n%v\nwant\n%v", got, model)
	}
	if len(model) > 0 && b.Empty(0) {
		t.Fatalf("Empty with %d entries", len(model))
	}
	for k := range 40 {
		key, space := fmt.Sprintf("key-%d", k), fmt.Sprint(k%3)
		want, exists := model[key+"/"+space]
		got, ok, err := b.Get(groupOf(key), 0, key, []byte(space))
		if err != nil || ok != exists || string(got) != want {
			t.Fatalf("Get(%s) = %q, %t, %v, want %q, %t", key, got, ok, err, want, exists)
		}
		var scanned []string
		if err := b.Scan(groupOf(key), 0, key, func(namespace, value []byte) error {
			scanned = append(scanned, string(namespace)+"="+string(value))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var wantScan []string
		if exists {
			wantScan = []string{space + "=" + want}
		}
		if !slices.Equal(scanned, wantScan) {
			t.Fatalf("Scan(%s) = %q, want %q", key, scanned, wantScan)
		}
	}
}

func TestParallelismChangesWithRangesOnly(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	id, err := b.StateID("count", StateDesc{Name: "n", Kind: "value", Type: "cbor:int64", Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for i := range 1000 {
		pairs = append(pairs, fmt.Sprintf("u%d", i), fmt.Sprint(i))
	}
	add(t, b, 1, id, pairs[:1200]...)
	base := writeBase(t, b, 1)
	files := storage{}
	files.store(t, fs, base)
	add(t, b, 2, id, pairs[1200:]...)
	b2 := open(t, Options{Dir: "e", FS: fs}, Restore{Checkpoint: 2, Base: base.Files, Fetch: files.fetch, Deltas: b.Deltas(), States: b.States()})
	for _, parallelism := range []int{1, 2, 3, 7, 128} {
		all := make(map[string]string)
		for i := range parallelism {
			part := dump(t, b2, stream.RangeOf(i, parallelism, stream.DefaultKeyGroups), id)
			for k, v := range part {
				if _, ok := all[k]; ok {
					t.Errorf("parallelism %d: key %s belongs to two subtasks", parallelism, k)
				}
				all[k] = v
			}
		}
		if len(all) != 1000 || all["u0"] != "0" || all["u999"] != "999" {
			t.Errorf("parallelism %d: %d keys, want 1000", parallelism, len(all))
		}
	}
}

func TestARestartUploadsOnlyNewTables(t *testing.T) {
	fs := vfs.NewMem()
	files := storage{}
	b := open(t, Options{Dir: "d", FS: fs, CacheDir: "c"}, Restore{})
	declare(t, b)
	add(t, b, 1, 0, "a", "1", "b", "2")
	base := writeBase(t, b, 1)
	files.store(t, fs, base)
	if len(base.New) != len(base.Files) {
		t.Errorf("the first base has %d new files of %d", len(base.New), len(base.Files))
	}
	fetch := files.fetch
	// All files are in the cache, so nothing is fetched.
	b = open(t, Options{Dir: "e", FS: fs, CacheDir: "c"}, Restore{Checkpoint: 1, Base: base.Files, States: b.States()})
	add(t, b, 2, 0, "c", "3")
	second := writeBase(t, b, 2)
	tables := 0
	for _, f := range second.New {
		if isTable(f.Name) {
			tables++
		}
	}
	if tables != 1 {
		t.Errorf("the second base has %d new tables, want 1: %v", tables, second.New)
	}
	files.store(t, fs, second)
	b = open(t, Options{Dir: "f", FS: fs}, Restore{Checkpoint: 2, Base: second.Files, Fetch: fetch, States: b.States()})
	want := map[string]string{"a": "1", "b": "2", "c": "3"}
	if got := dump(t, b, everyGroup, 0); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A fetch that breaks off and begins anew leaves nothing of the first try, and what is too long is damage.
func TestAFileThatIsFetchedTwiceIsThatOfTheSecondTime(t *testing.T) {
	fs := vfs.NewMem()
	content := []byte("content")
	want := BaseFile{Name: "000001.sst", Size: int64(len(content)), Hash: sha256.Sum256(content)}
	tries := func(contents ...string) Fetch {
		return func(_ context.Context, _ BaseFile, create func() (io.WriteCloser, error)) error {
			for _, c := range contents {
				if err := fetched([]byte(c), create); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, tc := range []struct {
		fetch Fetch
		bad   bool
	}{
		{tries("content"), false},
		{tries("cont", "content"), false},
		{tries("contents and more", "content"), false},
		{tries("content", "cont"), true},
		{tries("content", "content and more"), true},
		{tries("CONTENT"), true},
	} {
		err := placeFile(t.Context(), Options{FS: fs}, "f", want, tc.fetch)
		if errors.Is(err, ErrCorrupt) != tc.bad || (err != nil) != tc.bad {
			t.Errorf("%v, want damage %t", err, tc.bad)
			continue
		}
		if got, err := hashFile(fs, "f"); !tc.bad && (err != nil || same(got, want) != nil) {
			t.Errorf("the file is another: %v, %v", got, err)
		}
	}
	if err := placeFile(t.Context(), Options{FS: fs}, "f", want, tries()); err == nil {
		t.Error("a fetch that creates nothing is no error")
	}
}

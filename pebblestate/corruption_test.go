package pebblestate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Each file of a base is damaged in each way: the restore says which, and never opens an older or an empty database.
func TestADamagedBaseIsNamedAndNeverOpened(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	declare(t, b)
	files := storage{}
	var base BaseFiles
	for i := range int64(3) {
		var pairs []string
		for k := range 200 {
			pairs = append(pairs, fmt.Sprintf("u%d", k), fmt.Sprint(i, k))
		}
		add(t, b, i+1, 0, pairs...)
		base = writeBase(t, b, i+1)
		files.store(t, fs, base)
	}
	restore := Restore{Checkpoint: 3, Base: base.Files, States: b.States()}
	largest := slices.MaxFunc(base.Files, func(x, y BaseFile) int { return int(x.Size - y.Size) })
	damages := map[string]func([]byte) []byte{
		"truncated": func(c []byte) []byte { return c[:len(c)/2] },
		"empty":     func([]byte) []byte { return nil },
		"longer":    func(c []byte) []byte { return append(c, 0) },
		"swapped":   func([]byte) []byte { return files[largest.Hash] },
		"missing":   nil,
	}
	for _, place := range []int{0, 1, 2, 3} {
		damages[fmt.Sprint("flipped ", place)] = func(c []byte) []byte {
			if len(c) > 0 {
				c[place*(len(c)-1)/3] ^= 0x40
			}
			return c
		}
	}
	kinds := make(map[string]bool)
	for _, f := range base.Files {
		kinds[strings.TrimRight(strings.SplitN(f.Name, ".", 2)[0], "0123456789")] = true
		for damage, do := range damages {
			var content []byte
			if do != nil {
				if content = do(bytes.Clone(files[f.Hash])); bytes.Equal(content, files[f.Hash]) {
					continue
				}
			}
			r := restore
			r.Fetch = func(ctx context.Context, want BaseFile, create func() (io.WriteCloser, error)) error {
				switch {
				case want.Name != f.Name:
					return files.fetch(ctx, want, create)
				case do == nil:
					return os.ErrNotExist
				}
				return fetched(content, create)
			}
			_, err := Open(t.Context(), Options{Dir: "bad", FS: fs}, r)
			if err == nil || !strings.Contains(err.Error(), "file "+f.Name+":") {
				t.Errorf("%s %s: error %v", f.Name, damage, err)
			} else if do != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s %s: %v is not ErrCorrupt", f.Name, damage, err)
			}
		}
	}
	if len(kinds) < 3 {
		t.Errorf("only files of the kinds %v", kinds)
	}
	restore.Fetch = files.fetch
	if got := dump(t, open(t, Options{Dir: "good", FS: fs}, restore), everyGroup, 0); len(got) != 200 {
		t.Errorf("the undamaged base has %d entries", len(got))
	}
}

func TestADamagedCacheIsFetchedAnew(t *testing.T) {
	fs := vfs.NewMem()
	opts := Options{Dir: "d", CacheDir: "cache", FS: fs}
	b := open(t, opts, Restore{})
	declare(t, b)
	add(t, b, 1, 0, "a", "1")
	base := writeBase(t, b, 1)
	files := storage{}
	files.store(t, fs, base)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range base.Files {
		path := cachePath(opts, f)
		if err := fs.Remove(path); err != nil {
			t.Fatal(err)
		}
		w, err := fs.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("junk")); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := Restore{Checkpoint: 1, Base: base.Files, Fetch: files.fetch, States: b.States()}
	for range 2 { // the second time out of the cache again
		b = open(t, opts, r)
		if got := dump(t, b, everyGroup, 0); got["a"] != "1" {
			t.Errorf("restored %v", got)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		r.Fetch = nil
	}
}

func TestADamagedDeltaIsRefused(t *testing.T) {
	b := open(t, Options{Dir: "d", FS: vfs.NewMem()}, Restore{})
	add(t, b, 1, 0, "a", "1", "b", "-")
	repr := b.Deltas()[0].Repr
	for n := range repr {
		if _, err := lastChanges([][]byte{repr[:n]}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("the first %d of %d bytes: %v", n, len(repr), err)
		}
	}
	if _, err := lastChanges([][]byte{append(bytes.Clone(repr), 1)}); !errors.Is(err, ErrCorrupt) {
		t.Error("a byte too many")
	}
	short := newDelta(0, 0)
	rawChange(short, change{key: []byte("x")})
	_, err := Open(t.Context(), Options{Dir: "e", FS: vfs.NewMem()}, Restore{Deltas: []Delta{{First: 1, Checkpoint: 1, Repr: short.Bytes()}}})
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("a key that is none: %v", err)
	}
}

func TestOneProcessAtATimeUsesADirectory(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	declare(t, b)
	add(t, b, 1, 0, "a", "1")
	writeBase(t, b, 1)
	if _, err := Open(t.Context(), Options{Dir: "d", FS: fs}, Restore{}); err == nil || !strings.Contains(err.Error(), "another process may use it") {
		t.Errorf("error %v", err)
	}
	if v, _, err := b.Get(groupOf("a"), 0, "a", nil); string(v) != "1" || err != nil {
		t.Errorf("the first one reads %q, %v", v, err)
	}
}

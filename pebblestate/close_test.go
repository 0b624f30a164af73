package pebblestate

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/weirstream/weir/stream"
)

func TestCloseLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	fs := vfs.NewMem()
	b, err := Open(t.Context(), Options{Dir: "d", FS: fs}, Restore{})
	if err != nil {
		t.Fatal(err)
	}
	add(t, b, 1, 0, "a", "1")
	base := writeBase(t, b, 1)
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Release(base); err != nil {
		t.Error(err)
	}
	if names, err := fs.List("d"); err != nil || len(names) > 1 {
		t.Errorf("the directory has %q, %v; want the lock at most", names, err)
	}
	_, _, get := b.Get(0, 0, "a", nil)
	scan := b.ScanState(everyGroup, 0, func(stream.KeyGroup, string, []byte, []byte) error { return nil })
	add(t, b, 2, 0, "a", "2")
	_, write := b.WriteBase(t.Context(), 2)
	for what, err := range map[string]error{"get": get, "scan": scan, "base": write} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

// A block that goes bad after the restore is an error of the read and ends the attempt; Pebble alone would end the process.
func TestABlockThatGoesBadIsAnError(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "c", FS: fs}, Restore{})
	declare(t, b)
	var pairs []string
	for i := range 5000 {
		pairs = append(pairs, fmt.Sprintf("u%d", i), fmt.Sprint(i))
	}
	add(t, b, 1, 0, pairs...)
	base := writeBase(t, b, 1)
	files := storage{}
	files.store(t, fs, base)
	b = open(t, Options{Dir: "d", FS: fs}, Restore{Checkpoint: 1, Base: base.Files, Fetch: files.fetch})
	for _, f := range base.Files {
		if isTable(f.Name) {
			flip(t, fs, fs.PathJoin("d", "db", f.Name), f.Size/3)
		}
	}
	bad := 0
	for i := 0; i < len(pairs); i += 2 {
		_, _, err := b.Get(groupOf(pairs[i]), 0, pairs[i], nil)
		if err != nil {
			if bad++; !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: %v is not ErrCorrupt", pairs[i], err)
			}
		}
	}
	if bad == 0 || !errors.Is(b.Err(), ErrCorrupt) {
		t.Errorf("%d reads failed, kept %v", bad, b.Err())
	}
	if _, err := b.WriteBase(t.Context(), 2); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a base of it: %v", err)
	}
}

func flip(t *testing.T, fs vfs.FS, path string, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

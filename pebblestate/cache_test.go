package pebblestate

import (
	"context"
	"fmt"
	"io"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A local copy is never trusted without its hash: whichever bit of whichever file has flipped, exactly that file is fetched
// again, the state is whole, and the next restart needs nothing.
func TestABitThatFlippedInACachedFileIsFetchedAgain(t *testing.T) {
	fs := vfs.NewMem()
	opts := Options{Dir: "d", CacheDir: "cache", FS: fs}
	b := open(t, opts, Restore{})
	declare(t, b)
	files := storage{}
	var base BaseFiles
	for checkpoint := int64(1); checkpoint <= 3; checkpoint++ { // several tables
		add(t, b, checkpoint, 0, "a", fmt.Sprint(checkpoint), fmt.Sprint("k", checkpoint), "v")
		base = writeBase(t, b, checkpoint)
		files.store(t, fs, base)
	}
	want := dump(t, b, everyGroup, 0)
	states := b.States()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var fetched []string
	restore := Restore{Checkpoint: 3, Base: base.Files, States: states, Fetch: func(ctx context.Context, f BaseFile, create func() (io.WriteCloser, error)) error {
		fetched = append(fetched, f.Name)
		return files.fetch(ctx, f, create)
	}}
	opened := 0
	reopen := func() {
		t.Helper()
		opened++
		b := open(t, Options{Dir: fmt.Sprint("again", opened), CacheDir: "cache", FS: fs}, restore)
		if got := dump(t, b, everyGroup, 0); !maps.Equal(got, want) {
			t.Errorf("restored %v, want %v", got, want)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	reopen()
	if len(fetched) > 0 {
		t.Errorf("%v were fetched although the copies are whole", fetched)
	}
	for _, f := range base.Files {
		if f.Size == 0 {
			continue
		}
		for _, at := range []int64{0, f.Size / 2, f.Size - 1} {
			fetched = nil
			flip(t, fs, cachePath(opts, f), at)
			reopen()
			if fmt.Sprint(fetched) != fmt.Sprint([]string{f.Name}) {
				t.Errorf("byte %d of %s has flipped: %v were fetched", at, f.Name, fetched)
			}
			fetched = nil
			reopen()
			if len(fetched) > 0 {
				t.Errorf("%v were fetched a second time", fetched)
			}
		}
	}
}

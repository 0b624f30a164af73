package pebblestate

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirstream/weir/stream"
)

// Any file operation fails, of those that read too: once, or from then on. A restore, a base on top of it and reads of it
// end with an error that says so, or with what is right; nothing ends the process, and the disk that is well again has all.
func TestARestoreReportsTheFaultOfAnyFileOperation(t *testing.T) {
	mem := vfs.NewMem()
	b := open(t, Options{Dir: "d", FS: mem}, Restore{})
	declare(t, b)
	var pairs []string
	want := map[string]string{}
	for i := range 300 {
		pairs = append(pairs, fmt.Sprint("u", i), fmt.Sprint(i))
		want[fmt.Sprint("u", i)] = fmt.Sprint(i)
	}
	add(t, b, 1, 0, pairs...)
	base := writeBase(t, b, 1)
	files := storage{}
	files.store(t, mem, base)
	add(t, b, 2, 0, "u1", "-", "new", "1")
	delete(want, "u1")
	want["new"] = "1"
	restore := Restore{Checkpoint: 2, Base: base.Files, Fetch: files.fetch, Deltas: b.Deltas(), States: b.States()}

	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		for _, forever := range []bool{false, true} {
			closing, step := 10*time.Second, int32(2)
			if forever { // Pebble may have to be left behind, which takes its time
				closing, step = 50*time.Millisecond, 11
			}
			for n := int32(0); ; n += step {
				var count atomic.Int32
				var hit, well atomic.Bool
				disk := vfs.NewMem()
				fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
					if well.Load() || op.Kind == errorfs.OpFileClose || cause == syscall.ENOSPC && op.Kind.ReadOrWrite() == errorfs.OpIsRead {
						return nil
					}
					if at := count.Add(1) - 1; at == n || forever && at > n {
						hit.Store(true)
						return cause
					}
					return nil
				}))
				opts := Options{Dir: "d", CacheDir: "cache", FS: fs, BaseTimeout: 10 * time.Second, CloseTimeout: closing}
				err := attempt(t, opts, restore, want)
				if err != nil && !errors.Is(err, cause) {
					t.Fatalf("operation %d, forever %v: %v", n, forever, err)
				}
				if err != nil && !hit.Load() {
					t.Fatalf("nothing failed, but: %v", err)
				}
				well.Store(true)
				opts.Dir, opts.CloseTimeout = "another", 10*time.Second
				if err := attempt(t, opts, restore, want); err != nil {
					t.Fatalf("operation %d, forever %v: again: %v", n, forever, err)
				}
				if !hit.Load() {
					if n < 40 {
						t.Errorf("only %d operations", n)
					}
					break
				}
			}
		}
	}
}

// attempt restores, writes a base and reads, as one attempt of a job does, and compares.
func attempt(t *testing.T, opts Options, restore Restore, want map[string]string) (err error) {
	t.Helper()
	b, err := Open(t.Context(), opts, restore)
	if err != nil {
		return err
	}
	defer func() {
		if closed := b.Close(); opts.CloseTimeout >= time.Second {
			err = errors.Join(err, closed)
		}
	}()
	check := func() error {
		got := map[string]string{}
		err := b.ScanState(everyGroup, 0, collect(got))
		if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("read %v", got)
		}
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if _, err := b.WriteBase(t.Context(), 2); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	return b.Err()
}

func collect(into map[string]string) func(stream.KeyGroup, string, []byte, []byte) error {
	return func(_ stream.KeyGroup, key string, _, value []byte) error {
		into[key] = string(value)
		return nil
	}
}

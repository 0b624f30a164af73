package savepoint

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/checkpoint"
)

// failing fails every call that writes or deletes after some.
type failing struct {
	checkpoint.Store
	left int
}

func (f *failing) count() error {
	if f.left--; f.left < 0 {
		return fs.ErrPermission
	}
	return nil
}

func (f *failing) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	if err := f.count(); err != nil {
		return err
	}
	return f.Store.Put(ctx, name, content)
}

func (f *failing) Delete(ctx context.Context, name string) error {
	if err := f.count(); err != nil {
		return err
	}
	return f.Store.Delete(ctx, name)
}

// A deletion that ends after any step leaves a whole savepoint or none, and the same call completes it.
func TestADeletionThatStopsAnywhereLeavesAWholeSavepointOrNone(t *testing.T) {
	for steps := 0; ; steps++ {
		dir := filepath.Join(t.TempDir(), "a")
		m := small(t, dir, 42)
		d, err := PlanDelete(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if d.ID != m.ID || d.Job != "clicks" || d.Begun {
			t.Errorf("%+v", d.Listed)
		}
		d.store = &failing{d.store, steps}
		err = d.Do(t.Context())
		if slices.Contains(names(t, dir), checkpoint.ManifestName) {
			whole(t, dir)
		} else if _, err := Open(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %d steps: %v", steps, err)
		}
		if err == nil {
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory is there: %v", err)
			}
			if steps < 5 {
				t.Errorf("only %d steps", steps)
			}
			return
		}
		again, err := PlanDelete(t.Context(), dir)
		if err != nil {
			if steps == 0 || !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("after %d steps: %v", steps, err)
			}
			continue // nothing is left but an empty directory
		}
		if err := again.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("after %d steps and again: left: %v", steps, left)
		}
	}
}

// On a full disk nothing can be written, and a deletion is what makes room.
func TestADeletionNeedsNoRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	small(t, dir, 42)
	d, err := PlanDelete(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	d.store = &fullDisk{d.store}
	if err := d.Do(t.Context()); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

type fullDisk struct{ checkpoint.Store }

func (fullDisk) Put(context.Context, string, io.ReadSeeker) error {
	return errors.New("no space left on device")
}

func TestOnlyASavepointIsDeleted(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a")
	small(t, a, 42)
	if err := os.WriteFile(filepath.Join(a, "notes.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	for what, says := range map[string]string{a: "files that are not its own, so nothing was deleted: notes.txt", dir: "is not a savepoint", filepath.Join(dir, "none"): "no such directory"} {
		if _, err := PlanDelete(t.Context(), what); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := names(t, dir); !slices.Equal(before, after) {
		t.Errorf("%v, then %v", before, after)
	}
}

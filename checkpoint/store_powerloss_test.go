package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// failing lets the n-th operation of a file system fail, and with forever all after it.
type failing struct {
	n       int
	forever bool
	err     error
	seen    int
	failed  bool
}

func (f *failing) on(fs vfs.FS) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(errorfs.Op) error {
		at := f.seen
		f.seen++
		if at == f.n || f.forever && at > f.n {
			f.failed = true
			return f.err
		}
		return nil
	}))
}

const root = "/var/lib/weir"

// uploads opens a store and writes a few files, as two attempts would. It returns those that were acknowledged.
func uploads(ctx context.Context, on vfs.FS) (acknowledged []File, err error) {
	store, err := openDirectoryOn(on, root)
	if err != nil {
		return nil, err
	}
	files := NewFiles(store, nil)
	for i, attempt := range []string{"a", "a", "b", "b"} {
		f, err := files.UploadBytes(ctx, func(h Hash) string { return FileName("j", 0, attempt, int64(i), h, "delta") }, fmt.Appendf(nil, "content %d", i))
		if err != nil {
			return acknowledged, err
		}
		acknowledged = append(acknowledged, f)
	}
	return acknowledged, nil
}

// survives checks what is there after a loss of power: all that was acknowledged, and nothing by half.
func survives(t *testing.T, on vfs.FS, acknowledged []File) {
	t.Helper()
	store, err := openDirectoryOn(on, root)
	if err != nil {
		t.Fatal(err)
	}
	files := NewFiles(store, nil)
	for _, f := range acknowledged {
		if err := files.Verify(t.Context(), f); err != nil {
			t.Fatalf("acknowledged: %v", err)
		}
	}
	all, err := store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if strings.Contains(s.Name, temporary) {
			continue
		}
		var content strings.Builder
		if err := store.Get(t.Context(), s.Name, &content); err != nil {
			t.Fatal(err)
		}
		if h := Hash(sha256.Sum256([]byte(content.String()))); !strings.Contains(s.Name, h.String()) {
			t.Fatalf("%s is there by half: %q", s.Name, content.String())
		}
	}
}

// Rule 16: the power fails after any operation, or after one that had failed; what was acknowledged is there.
func TestWhatIsAcknowledgedSurvivesALossOfPower(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		for _, forever := range []bool{false, true} {
			for n := 0; ; n++ {
				fault := &failing{n: n, forever: forever, err: cause}
				synctest.Test(t, func(t *testing.T) {
					mem := vfs.NewCrashableMem()
					acknowledged, err := uploads(t.Context(), fault.on(mem))
					switch {
					case err != nil && !errors.Is(err, cause):
						t.Fatalf("operation %d: %v", n, err)
					case err == nil && len(acknowledged) < 4:
						t.Fatalf("operation %d: %d files", n, len(acknowledged))
					}
					survives(t, mem.CrashClone(vfs.CrashCloneCfg{}), acknowledged)
					for seed := range uint64(5) {
						rng := rand.New(rand.NewPCG(uint64(n), seed))
						survives(t, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng}), acknowledged)
					}
					// The next process goes on where this one ended.
					again, err := uploads(t.Context(), mem)
					if err != nil {
						t.Fatalf("operation %d: again: %v", n, err)
					}
					survives(t, mem.CrashClone(vfs.CrashCloneCfg{}), again)
				})
				if !fault.failed {
					if n < 30 {
						t.Errorf("only %d operations", n)
					}
					break
				}
			}
		}
	}
}

// What a crash leaves behind half written is listed as a file of its attempt, and so is cleaned up with it.
func TestWhatACrashLeftHalfWrittenIsCleanedUp(t *testing.T) {
	mem := vfs.NewCrashableMem()
	for n := 0; ; n++ {
		fault := &failing{n: n, forever: true, err: syscall.EROFS} // nothing can be removed any more either
		_, err := uploads(t.Context(), fault.on(mem))
		if err == nil {
			break
		}
	}
	store, err := openDirectoryOn(mem, root)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := store.List(t.Context(), "j/0/")
	if err != nil {
		t.Fatal(err)
	}
	half := 0
	for _, name := range Orphans(listed, nil, nil, "own") {
		if strings.Contains(name, temporary) {
			half++
		}
		if err := store.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if half == 0 {
		t.Error("nothing was left half written")
	}
	if left, err := store.List(t.Context(), "j/0/"); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

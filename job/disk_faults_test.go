package job_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
)

// diskFault lets operations of the machine's file system fail: those of the store and those of Pebble.
type diskFault struct {
	at    int64 // the first that fails
	n     int64 // how many
	write bool  // only those that write
	err   error
	below string // only in this directory, if set

	seen   atomic.Int64
	failed atomic.Bool
	mended atomic.Bool
}

func (f *diskFault) inject(t *testing.T) {
	system := vfs.Default
	vfs.Default = errorfs.Wrap(system, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f.mended.Load() || !strings.HasPrefix(op.Path, f.below) {
			return nil
		}
		if f.write && op.Kind.ReadOrWrite() == errorfs.OpIsRead || op.Kind == errorfs.OpFileClose {
			return nil
		}
		if n := f.seen.Add(1) - 1; n < f.at || n >= f.at+f.n {
			return nil
		}
		f.failed.Store(true)
		return f.err
	}))
	t.Cleanup(func() { vfs.Default = system })
}

// from injects the faults when a step is passed.
func (f *diskFault) from(t *testing.T, step fault.Step) fault.Hook {
	f.mended.Store(true)
	f.inject(t)
	var once sync.Once
	return func(s fault.Step) {
		if s == step {
			once.Do(func() { f.mended.Store(false) })
		}
	}
}

// TestAnyFileOperationMayFail lets the n-th file operation fail, for growing n until a run is untouched: once, or a disk
// that is full for a while. A job that does not start says so, one that runs starts again; the output is exact each time.
func TestAnyFileOperationMayFail(t *testing.T) {
	const records, keys = 600, 53
	c := newCluster(t, "in")
	c.feed("in", 0, records, keys)
	want := wantSums(records, keys)
	for _, kind := range []struct {
		name  string
		n     int64
		write bool
		err   error
	}{
		{"once", 1, false, syscall.EIO},
		{"full for a while", 20, true, syscall.ENOSPC},
	} {
		for n, step := int64(0), int64(1); ; n, step = n+step, step+step/7+1 {
			touched := true
			name := fmt.Sprintf("%s at %d", kind.name, n)
			t.Run(name, func(t *testing.T) {
				fault := &diskFault{at: n, n: kind.n, write: kind.write, err: kind.err}
				fault.inject(t)
				out := fmt.Sprintf("out-%d-%d", kind.n, n)
				c.create(out)
				o := c.options(5 * time.Millisecond)
				dir := t.TempDir()
				o.Checkpoint.Storage, o.Checkpoint.LocalDir = dir+"/state", dir+"/local"
				o.Checkpoint.Group, o.Checkpoint.Prefix = out, out
				o.Checkpoint.InlineThreshold, o.Checkpoint.BaseAfter = 1, 1000
				// A restart for each of the operations that fail is not to take longer and longer.
				o.Checkpoint.Restart.InitialBackoff, o.Checkpoint.Restart.MaxBackoff = time.Millisecond, 10*time.Millisecond
				j := start(t, sumsTo(2, out), o)
				eventually(t, "all results", func() bool {
					select {
					case err := <-j.done:
						if !fault.failed.Load() || j.Ran() {
							t.Fatalf("the job ended: %v", err)
						}
						j = start(t, sumsTo(2, out), o) // it did not start, and said so: a supervisor starts it again
						return false
					default:
					}
					return j.Status().Phase == runtime.Running && diff(c.read(out), want) == nil
				})
				// What is in the storage is enough for another machine.
				j.kill()
				o.Checkpoint.LocalDir = t.TempDir()
				j = start(t, sumsTo(1, out), o)
				eventually(t, "the job to run", func() bool {
					select {
					case err := <-j.done:
						if !fault.failed.Load() || j.Ran() {
							t.Fatalf("the job ended: %v", err)
						}
						j = start(t, sumsTo(1, out), o)
					default:
					}
					return j.Status().Phase == runtime.Running
				})
				j.stop()
				if err := diff(c.read(out), want); err != nil {
					t.Fatal(err)
				}
				touched = fault.failed.Load()
			})
			if t.Failed() || !touched {
				t.Logf("%s: %d operations", kind.name, n)
				break
			}
		}
	}
}

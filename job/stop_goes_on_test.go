package job_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// idle starts a job that has nothing to do any more, with faults in a directory from the beginning of a savepoint on.
func idle(t *testing.T, with func(*running) fault.Hook) (c *cluster, o job.Options, j *running, f *diskFault, dir string) {
	c = newCluster(t, "in", "out")
	o = c.options(10 * time.Millisecond)
	dir = filepath.Join(t.TempDir(), "savepoint")
	f = &diskFault{n: 1 << 40, err: fs.ErrPermission, below: dir}
	begun := f.from(t, fault.SavepointBegun)
	var started atomic.Pointer[running]
	o.Fault = func(s fault.Step) {
		begun(s)
		if r := started.Load(); r != nil && with != nil {
			with(r)(s)
		}
	}
	o.Checkpoint.Restart.InitialBackoff, o.Checkpoint.Restart.MaxBackoff = time.Millisecond, 10*time.Millisecond
	c.feed("in", 0, 1000, 10)
	j = start(t, sums(2), o)
	started.Store(j)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(1000, 10)) == nil })
	j.past(j.Status().Checkpoint - 1)
	o.Fault = nil
	return c, o, j, f, dir
}

// goesOn checks that the last pointer says that the job runs, and gives no savepoint to do.
func (c *cluster) goesOn(o job.Options) *checkpoint.Pointer {
	c.t.Helper()
	all := c.pointers(o)
	last := all[len(all)-1]
	if last.Last || last.Savepoint != "" || len(last.Unfinished) > 0 {
		c.t.Errorf("the last pointer: %+v", last)
	}
	return last
}

// C37: whoever was told that a savepoint could not be written does not find it made by the next start, also if the job was idle
// and its process was killed at once.
func TestASavepointThatWasGivenUpIsNotTriedAgain(t *testing.T) {
	for _, how := range []string{"create", "stop"} {
		t.Run(how, func(t *testing.T) {
			c, o, j, f, dir := idle(t, nil)
			if how == "create" {
				if err := j.Savepoint(t.Context(), dir); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%v, want that it cannot be written", err)
				}
			} else if st := j.ask(runtime.StopRequest{Savepoint: dir}); st.Phase != runtime.StopFailed {
				t.Errorf("%+v, want that the job runs", st)
			}
			last := c.goesOn(o)
			j.crash(errCrash)
			if err := j.wait(); !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			f.mended.Store(true)
			again := start(t, sums(1), o)
			again.past(last.Checkpoint)
			again.stop()
			if _, err := os.Stat(filepath.Join(dir, checkpoint.ManifestName)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the savepoint is there: %v", err)
			}
		})
	}
}

// C37: a signal that comes when a job is about to go on after all ends it.
func TestASignalWhileAJobGoesOnEndsIt(t *testing.T) {
	stops := 0
	_, _, j, _, dir := idle(t, func(r *running) fault.Hook {
		return func(s fault.Step) {
			if st := r.StopStatus(); s == fault.Triggered && st != nil { // the last checkpoint's, and the one behind it
				if stops++; stops == 2 {
					r.Stop()
				}
			}
		}
	})
	st, err := j.RequestStop(runtime.StopRequest{Savepoint: dir})
	if err != nil {
		t.Fatal(err)
	}
	if st = j.outcome(st); st.Phase != runtime.StopDone || st.Savepoint != "" || !strings.Contains(st.Error, "permission") {
		t.Errorf("%+v, want that the job has ended without its savepoint", st)
	}
	if err := j.wait(); err != nil {
		t.Error(err)
	}
}

// A place where no savepoint can be is refused before anything is drained, stopped or written.
func TestAPlaceForASavepointIsTriedFirst(t *testing.T) {
	c, _, j, _, _ := idle(t, nil)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := j.Status()
	for _, dir := range []string{filepath.Join(file, "savepoint"), "nothing://bucket"} {
		for _, drain := range []bool{false, true} {
			if _, err := j.RequestStop(runtime.StopRequest{Savepoint: dir, Drain: drain}); err == nil || !strings.Contains(err.Error(), "savepoint "+dir+": storage ") {
				t.Errorf("stop with savepoint %s: %v", dir, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if err := j.Savepoint(ctx, dir); err == nil || !strings.Contains(err.Error(), "savepoint "+dir+": storage ") {
			t.Errorf("savepoint %s: %v", dir, err)
		}
		cancel()
	}
	if now := j.Status(); now.Checkpoint != before.Checkpoint || now.Phase != runtime.Running || now.Stop != nil {
		t.Errorf("%+v, and before %+v", now, before)
	}
	c.feed("in", 1000, 100, 10)
	eventually(t, "the job to go on", func() bool { return diff(c.read("out"), wantSums(1100, 10)) == nil })
	j.stop()
}

package job_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
)

// stopSteps are the steps between a request to stop with a savepoint and the end of the process.
func stopSteps() []fault.Step {
	all := fault.Steps()
	steps := all[slices.Index(all, fault.Triggered):]
	return slices.DeleteFunc(steps, func(s fault.Step) bool {
		return slices.Contains([]fault.Step{fault.PointersTrimmed, fault.BaseBegun, fault.BaseWritten, fault.BaseUploaded}, s)
	})
}

// C37: a process that is killed between the request and its end has stopped with a whole savepoint of its last checkpoint,
// or it has not: then the next start finishes the savepoint if its checkpoint is committed, and the job runs on. The output
// is exact in any case, and the request may be repeated.
func TestKilledAtEveryStepOfAStop(t *testing.T) {
	const records, keys = 600, 10
	for _, step := range stopSteps() {
		for n := int64(1); n <= 3; n++ {
			passed := false
			t.Run(fmt.Sprint(step, " ", n), func(t *testing.T) {
				c := newCluster(t, "in", "out")
				o := c.options(10 * time.Millisecond)
				o.Checkpoint.InlineThreshold = 1 // so that there are files to copy
				c.feed("in", 0, records, keys)
				dir := filepath.Join(t.TempDir(), "savepoint")
				var j atomic.Pointer[running]
				var armed atomic.Bool
				var count atomic.Int64
				o.Fault = func(s fault.Step) {
					if s == step && armed.Load() && count.Add(1) == n {
						j.Load().crash(errCrash)
					}
				}
				first := start(t, sums(2), o)
				j.Store(first)
				first.past(2)
				armed.Store(true)
				st, err := first.RequestStop(runtime.StopRequest{Savepoint: dir})
				if err != nil {
					t.Fatal(err)
				}
				err = first.wait()
				passed = count.Load() >= n
				if err != nil && !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				pointers := c.pointers(o)
				last := pointers[len(pointers)-1]
				taken := last.Savepoint == dir
				_, missing := os.Stat(filepath.Join(dir, checkpoint.ManifestName))
				if missing == nil && !taken {
					t.Error("there is a savepoint, and its checkpoint is not the last one")
				}
				if st = first.outcome(st); st.Phase != runtime.StopDone || st.Savepoint == dir && missing != nil {
					t.Errorf("%+v; manifest: %v", st, missing)
				}
				if err == nil && (!taken || missing != nil) {
					t.Error("the job has stopped without its savepoint")
				}

				o.Fault = nil
				c.feed("in", records, records, keys)
				second := start(t, sums(1), o)
				eventually(t, "all results", func() bool { return diff(c.read("out"), wantSums(2*records, keys)) == nil })
				again := dir + "-2"
				second.stoppedWith(second.ask(runtime.StopRequest{Savepoint: again}), again)
				if taken {
					if got := verify(t, dir).Pointer.Checkpoint; got != last.Checkpoint {
						t.Errorf("the savepoint is of checkpoint %d, want %d", got, last.Checkpoint)
					}
				} else if _, err := os.Stat(filepath.Join(dir, checkpoint.ManifestName)); err == nil {
					t.Error("a savepoint of a checkpoint that was never committed")
				}
				if err := diff(c.read("out"), wantSums(2*records, keys)); err != nil {
					t.Error(err)
				}
			})
			if !passed || t.Failed() {
				break
			}
		}
	}
}

// C37: whatever write of the savepoint fails, once or for good, the job has stopped with it or runs.
func TestAnyFileOperationOfAStopMayFail(t *testing.T) {
	const records, keys = 600, 10
	for _, many := range []int64{1, 1 << 40} {
		for n, step := int64(0), int64(1); ; n += step {
			if many > 1 {
				step = n + 1 // each takes the time for which a disk is waited for
			} else {
				step += step / 3
			}
			touched := true
			t.Run(fmt.Sprintf("%d from %d on", many, n), func(t *testing.T) {
				c := newCluster(t, "in", "out")
				o := c.options(10 * time.Millisecond)
				o.Checkpoint.InlineThreshold = 1
				dir := filepath.Join(t.TempDir(), "savepoint")
				f := &diskFault{at: n, n: many, err: syscall.EIO, below: dir}
				f.inject(t)
				c.feed("in", 0, records, keys)
				j := start(t, sums(2), o)
				j.past(2)
				st, err := j.RequestStop(runtime.StopRequest{Savepoint: dir})
				if err == nil {
					st = j.outcome(st)
				} else { // its place was tried
					st.Phase = runtime.StopFailed
				}
				touched = f.failed.Load()
				if !touched {
					f.mended.Store(true)
				}
				if st.Phase == runtime.StopFailed {
					c.feed("in", records, records, keys)
					eventually(t, "the job to go on", func() bool { return diff(c.read("out"), wantSums(2*records, keys)) == nil })
					f.mended.Store(true)
					again, err := j.RequestStop(runtime.StopRequest{Savepoint: dir})
					if errors.Is(err, fs.ErrExist) { // only the last act, after the manifest, had failed
						verify(t, dir)
						j.stop()
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					st = j.outcome(again)
				}
				j.stoppedWith(st, dir)
			})
			if !touched || t.Failed() {
				break
			}
		}
	}
}

// C37: a storage that does not answer as it should is not waited for without end while the job stands still.
func TestAStopDoesNotWaitForAStorageThatKeepsFailing(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	o.Checkpoint.Timeout = 3 * time.Second
	dir := filepath.Join(t.TempDir(), "savepoint")
	f := &diskFault{n: 1 << 40, err: errors.New("try again"), below: dir}
	o.Fault = f.from(t, fault.SavepointBegun)
	c.feed("in", 0, 1000, 10)
	j := start(t, sums(2), o)
	j.past(2)
	began := time.Now()
	st := j.ask(runtime.StopRequest{Savepoint: dir})
	if took := time.Since(began); st.Phase != runtime.StopFailed || !strings.Contains(st.Error, "try again") || took > 15*time.Second {
		t.Errorf("%+v after %s, want that the job runs", st, took)
	}
	j.stop()
}

// failCommits lets commits of offsets fail while it is set: each ends an attempt.
func (c *cluster) failCommits() *atomic.Bool {
	var on atomic.Bool
	c.fake.ControlKey(int16(kmsg.TxnOffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		if !on.Load() {
			return nil, nil, false
		}
		return refusedOffsets(r.(*kmsg.TxnOffsetCommitRequest)), nil, true
	})
	return &on
}

// C37: a stop whose checkpoint fails leaves the job running, by its restart strategy, and says why.
func TestAStopWhoseCheckpointFailsLeavesTheJobRunning(t *testing.T) {
	for _, q := range []runtime.StopRequest{{Savepoint: "savepoint"}, {Drain: true}, {}} {
		t.Run(fmt.Sprintf("%+v", q), func(t *testing.T) {
			c := newCluster(t, "in", "out")
			fail := c.failCommits()
			o := c.options(10 * time.Millisecond)
			o.Checkpoint.Restart.InitialBackoff, o.Checkpoint.Restart.MaxBackoff = time.Millisecond, 10*time.Millisecond
			if q.Savepoint != "" {
				q.Savepoint = filepath.Join(t.TempDir(), q.Savepoint)
			}
			c.feed("in", 0, 1000, 10)
			j := start(t, sums(2), o)
			j.past(2)
			fail.Store(true)
			st := j.ask(q)
			if st.Phase != runtime.StopFailed || st.Error == "" {
				t.Errorf("%+v, want that the job runs", st)
			}
			fail.Store(false)
			c.feed("in", 1000, 1000, 10)
			eventually(t, "the job to go on", func() bool { return diff(c.read("out"), wantSums(2000, 10)) == nil })
			if st := j.ask(runtime.StopRequest{}); st.Phase != runtime.StopDone || st.Error != "" {
				t.Errorf("%+v, want that it is stopped", st)
			}
			if err := j.wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// C37: a job that waits to restart is stopped at once, with a savepoint; one that cannot restart goes on trying, and says so.
func TestAStopWhileTheJobRestarts(t *testing.T) {
	c := newCluster(t, "in", "out")
	fail := c.failCommits()
	o := c.options(10 * time.Millisecond)
	o.Checkpoint.Restart.InitialBackoff, o.Checkpoint.Restart.MaxBackoff = 5*time.Minute, 5*time.Minute
	c.feed("in", 0, 1000, 10)
	j := start(t, sums(2), o)
	j.past(2)
	fail.Store(true)
	c.feed("in", 1000, 1000, 10)
	waiting := func() bool { return j.Status().Phase == runtime.Waiting }
	eventually(t, "the job to wait", waiting)
	dir := filepath.Join(t.TempDir(), "savepoint")
	if st := j.ask(runtime.StopRequest{Savepoint: dir}); st.Phase != runtime.StopFailed || st.Error == "" {
		t.Errorf("%+v, want that the job goes on trying", st)
	}
	eventually(t, "the job to wait again", waiting)
	fail.Store(false)
	j.stoppedWith(j.ask(runtime.StopRequest{Savepoint: dir}), dir)
	finishAll(c, o, 2000)
}

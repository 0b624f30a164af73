package job_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// ask asks a job to stop and returns the outcome.
func (r *running) ask(q runtime.StopRequest) runtime.StopStatus {
	r.t.Helper()
	st, err := r.RequestStop(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.outcome(st)
}

// outcome waits for that of a request.
func (r *running) outcome(st runtime.StopStatus) runtime.StopStatus {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	now := r.WaitStop(ctx)
	if now == nil || now.ID != st.ID || now.Phase == runtime.StopUnderWay {
		r.t.Fatalf("the outcome of %+v is %+v", st, now)
	}
	return *now
}

// stoppedWith checks that a job ended with a savepoint of its last checkpoint.
func (r *running) stoppedWith(st runtime.StopStatus, dir string) {
	r.t.Helper()
	if st.Phase != runtime.StopDone || st.Savepoint != dir || st.Error != "" {
		r.t.Fatalf("%+v, want that it is stopped with savepoint %s", st, dir)
	}
	if err := r.wait(); err != nil {
		r.t.Fatal(err)
	}
	if got := verify(r.t, dir).Pointer.Checkpoint; got != st.Checkpoint {
		r.t.Errorf("the savepoint is of checkpoint %d, and the last is %d", got, st.Checkpoint)
	}
}

// reads counts the records that the job reads; those of a stopped job, the next start does not read again.
func (r *running) reads() (n int64) {
	r.Metrics().Each(func(step string, _ int, m *runtime.StepMetrics) {
		if step == "in" {
			n += m.RecordsIn.Load()
		}
	})
	return n
}

// C37: a stop with a savepoint ends the process when the savepoint is whole, and not before.
func TestAStopWithASavepointEndsWithAWholeOne(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	for i := range 3 { // that of a job that works, of one that is idle, and of one that has just begun
		if i != 1 {
			c.feed("in", i*500, 1000, 10)
		}
		j := start(t, sums(2), o)
		eventually(t, "the job to run", func() bool { return j.Ran() })
		if i == 1 {
			eventually(t, "all results", func() bool { return diff(c.read("out"), wantSums(1000, 10)) == nil })
			j.past(j.Status().Checkpoint)
		}
		dir := filepath.Join(t.TempDir(), "savepoint")
		j.stoppedWith(j.ask(runtime.StopRequest{Savepoint: dir}), dir)
		if _, err := j.RequestStop(runtime.StopRequest{}); err == nil {
			t.Error("a job that has ended is asked to stop")
		}
	}
	finishAll(c, o, 2000)
}

// finishAll starts the job once more, waits for all results and stops it.
func finishAll(c *cluster, o job.Options, records int) {
	c.t.Helper()
	j := start(c.t, sums(1), o)
	eventually(c.t, "all results", func() bool {
		select {
		case err := <-j.done:
			c.t.Fatalf("the job ended: %v", err)
		default:
		}
		return diff(c.read("out"), wantSums(records, 10)) == nil
	})
	if st := j.ask(runtime.StopRequest{}); st.Phase != runtime.StopDone || st.Error != "" {
		c.t.Errorf("%+v", st)
	}
	if err := j.wait(); err != nil {
		c.t.Error(err)
	}
}

// C37: a savepoint that cannot be written does not stop the job, which goes on where it stood; the same command does it once
// there is room.
func TestAFullDiskInTheSavepointsDirectoryLeavesTheJobRunning(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	o.Checkpoint.InlineThreshold = 1
	dir := filepath.Join(t.TempDir(), "savepoint")
	var full, fills atomic.Bool
	o.Fault = func(s fault.Step) {
		if s == fault.SavepointBegun && fills.Load() {
			full.Store(true)
		}
	}
	system := vfs.Default
	vfs.Default = errorfs.Wrap(system, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.HasPrefix(op.Path, dir) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			return syscall.ENOSPC
		}
		return nil
	}))
	t.Cleanup(func() { vfs.Default = system })
	c.feed("in", 0, 1000, 10)
	j := start(t, sums(2), o)
	before := int64(0)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(1000, 10)) == nil })
	attempt := j.Status().Attempt
	for i := range 3 {
		fills.Store(true)
		st := j.ask(runtime.StopRequest{Savepoint: dir})
		if st.Phase != runtime.StopFailed || !strings.Contains(st.Error, "no space left") {
			t.Fatalf("%+v, want that the job runs, as there is no space", st)
		}
		pointers := c.pointers(o)
		last, asked := pointers[len(pointers)-1], slices.IndexFunc(pointers, func(p *checkpoint.Pointer) bool { return p.Savepoint == dir && p.Checkpoint > before })
		if asked < 0 || !pointers[asked].Last || last.Last || last.Savepoint != "" || len(last.Unfinished) > 0 {
			t.Errorf("the last pointer says that the job has stopped, or is to become a savepoint: %+v", last)
		}
		before = last.Checkpoint
		fills.Store(false)
		full.Store(false)
		c.feed("in", 1000+i*100, 100, 10)
		eventually(t, "the job to go on", func() bool { return diff(c.read("out"), wantSums(1100+i*100, 10)) == nil })
		if s := j.Status(); s.Phase != runtime.Running || s.Attempt != attempt || s.Restarts != 0 {
			t.Errorf("round %d: %+v, want attempt %s", i, s, attempt)
		}
	}
	if n := j.reads(); n != 1300 {
		t.Errorf("%d records were read, want each once", n)
	}
	j.stoppedWith(j.ask(runtime.StopRequest{Savepoint: dir}), dir)
	finishAll(c, o, 1300)
}

// holdCopy lets the copy of a savepoint wait.
func holdCopy(t *testing.T) (hook fault.Hook, begun chan struct{}, goOn func()) {
	begun, release := make(chan struct{}), make(chan struct{})
	var once, end sync.Once
	goOn = func() { end.Do(func() { close(release) }) }
	t.Cleanup(goOn)
	return func(s fault.Step) {
		if s == fault.SavepointBegun {
			once.Do(func() { close(begun) })
			<-release
		}
	}, begun, goOn
}

// C37: whoever asks again while a stop is under way joins it; who asks for something else is refused.
func TestASecondStopJoinsTheFirst(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	hook, begun, goOn := holdCopy(t)
	o.Fault = hook
	c.feed("in", 0, 1000, 10)
	j := start(t, sums(2), o)
	j.past(2)
	dir := filepath.Join(t.TempDir(), "savepoint")
	first, err := j.RequestStop(runtime.StopRequest{ID: "1", Savepoint: dir})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	for _, q := range []runtime.StopRequest{{ID: "1", Savepoint: dir}, {ID: "2", Savepoint: dir}, {ID: "3"}, {}} {
		if st, err := j.RequestStop(q); err != nil || st != first {
			t.Errorf("%+v: %+v, %v; want %+v", q, st, err, first)
		}
	}
	var conflict *runtime.StopConflictError
	for _, q := range []runtime.StopRequest{{Savepoint: dir + "-other"}, {Drain: true}, {ID: "4", Savepoint: dir, Drain: true}} {
		if _, err := j.RequestStop(q); !errors.As(err, &conflict) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if err := j.Savepoint(t.Context(), dir+"-other"); err == nil {
		t.Error("a savepoint of a job that takes its last checkpoint")
	}
	// While the copy goes on, nothing is read.
	c.feed("in", 1000, 1000, 10)
	before := j.reads()
	goOn()
	j.stoppedWith(j.outcome(first), dir)
	if st := j.StopStatus(); st.ID != "1" || j.reads() != before {
		t.Errorf("%+v; %d records were read, and %d at the barrier", st, j.reads(), before)
	}
	if st, err := j.RequestStop(runtime.StopRequest{ID: "1", Savepoint: dir}); err != nil || st.Phase != runtime.StopDone || st.Savepoint != dir {
		t.Errorf("the same request after the end: %+v, %v", st, err)
	}
	o.Fault = nil
	finishAll(c, o, 2000)
}

// Who sends a signal wants the process to end, whatever becomes of the savepoint that somebody else has asked for.
func TestASignalEndsAJobWhoseSavepointFails(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "savepoint")
	hook, begun, goOn := holdCopy(t)
	o.Fault = hook
	c.feed("in", 0, 1000, 10)
	j := start(t, sums(1), o)
	j.past(2)
	st, err := j.RequestStop(runtime.StopRequest{Savepoint: dir})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := vfs.Default.MkdirAll(filepath.Join(dir, checkpoint.ManifestName), 0o755); err != nil { // no manifest can be written
		t.Fatal(err)
	}
	j.Stop()
	goOn()
	st = j.outcome(st)
	if st.Phase != runtime.StopDone || st.Savepoint != "" || st.Error == "" || st.Checkpoint == 0 {
		t.Errorf("%+v, want that the job has ended without a savepoint", st)
	}
	if err := j.wait(); err != nil {
		t.Error(err)
	}
	o.Fault = nil
	finishAll(c, o, 1000)
}

// What can be known before a checkpoint is not found out by one.
func TestAStopThatCannotSucceedIsRefused(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	c.feed("in", 0, 1000, 10)
	dir := filepath.Join(t.TempDir(), "savepoint")
	hook, begun, goOn := holdCopy(t)
	o.Fault = hook
	j := start(t, sums(1), o)
	j.past(2)
	copied := make(chan error, 1)
	go func() { copied <- j.Savepoint(context.Background(), dir) }()
	<-begun
	if st := j.ask(runtime.StopRequest{Savepoint: dir}); st.Phase != runtime.StopFailed || !strings.Contains(st.Error, "is being copied there") {
		t.Errorf("%+v, want that an older checkpoint is being copied there", st)
	}
	goOn()
	if err := <-copied; err != nil {
		t.Fatal(err)
	}
	if _, err := j.RequestStop(runtime.StopRequest{Savepoint: dir}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want that there is a savepoint already", err)
	}
	j.stop()
	o.Kafka.Brokers = []string{"127.0.0.1:1"}
	o.WaitForBroker = time.Minute
	waits := start(t, sums(1), o)
	eventually(t, "the job to wait", func() bool { return waits.Status().Phase == runtime.Waiting })
	if _, err := waits.RequestStop(runtime.StopRequest{Savepoint: dir + "-2"}); err == nil || !strings.Contains(err.Error(), "has not begun") {
		t.Errorf("%v, want that the job has not begun", err)
	}
	if st := waits.ask(runtime.StopRequest{}); st.Phase != runtime.StopDone || st.Error != "" || waits.wait() != nil {
		t.Errorf("%+v, want that a job that waits just ends", st)
	}
}

package job_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/job"
)

// interrupted is a job that crashed while it copied a savepoint to dir. more, if set, is done while the copy is under way.
func interrupted(c *cluster, o job.Options, dir string, more func()) {
	c.t.Helper()
	begun, crashed := make(chan struct{}), make(chan struct{})
	o.Fault = func(s fault.Step) {
		if s == fault.SavepointBegun {
			close(begun)
			<-crashed
		}
	}
	c.feed("in", 0, 100, 10)
	j := start(c.t, sums(1), o)
	eventually(c.t, "results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
	go func() { _ = j.Savepoint(context.Background(), dir) }()
	<-begun
	if more != nil {
		more()
	}
	j.crash(errCrash)
	close(crashed)
	<-j.done
}

// After a crash the recovery goes on with a savepoint that was being copied. Who asks for one in the same directory meanwhile
// wants a newer one: the end of the older copy is no answer to that.
func TestAnOlderCopyDoesNotAnswerANewRequestForASavepoint(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "savepoint")
	interrupted(c, o, dir, nil)

	goOn := make(chan struct{})
	var once sync.Once
	o.Fault = func(s fault.Step) {
		if s == fault.SavepointBegun {
			<-goOn
		}
	}
	copied := make(chan checkpoint.SavepointEvent, 2)
	o.Listener = &checkpoint.Listener{OnSavepoint: func(e checkpoint.SavepointEvent) { copied <- e }}
	c.feed("in", 100, 100, 10)
	j := start(t, sums(1), o)
	defer once.Do(func() { close(goOn) })
	eventually(t, "more results", func() bool { return diff(c.read("out"), wantSums(200, 10)) == nil })
	asked := j.Status().Checkpoint
	bounded, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := j.Savepoint(bounded, dir)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "is being copied there") {
		t.Errorf("asked again: %v, want that an older checkpoint is being copied there", err)
	}
	once.Do(func() { close(goOn) })
	older := <-copied
	if older.Err != nil || older.Directory != dir || older.Checkpoint >= asked {
		t.Errorf("the copy that the recovery goes on with: %+v", older)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := j.Savepoint(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	j.stop()
	if got := verify(t, dir).Pointer.Checkpoint; got != older.Checkpoint {
		t.Errorf("the directory holds checkpoint %d, want %d", got, older.Checkpoint)
	}
	if got := verify(t, other).Pointer.Checkpoint; got < asked {
		t.Errorf("the savepoint is of checkpoint %d, which was older than %d when it was asked for", got, asked)
	}
}

// A recovery that cannot read the pointer of a savepoint under way, for a moment, does not know which files it needs: it
// leaves all of them alone until the savepoint is complete, those that no pointer seems to list and those that later
// checkpoints drop.
func TestFilesOfASavepointUnderWayOutliveAMomentsReadError(t *testing.T) {
	for _, tc := range []struct {
		name      string
		code      int16
		baseAfter checkpoint.Bytes
		before    int // checkpoints between the savepoint and the crash
	}{
		{"not reached yet, listed by no other", kerr.OffsetOutOfRange.Code, 1, 10},
		{"not reached yet, dropped later", kerr.OffsetOutOfRange.Code, 2000, 3},
		{"another error, listed by no other", kerr.UnknownServerError.Code, 1, 10},
		{"another error, dropped later", kerr.UnknownServerError.Code, 2000, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, "in", "out")
			o := c.options(10 * time.Millisecond)
			o.Checkpoint.InlineThreshold, o.Checkpoint.BaseAfter, o.Checkpoint.Retained = 1, tc.baseAfter, 2
			dir := filepath.Join(t.TempDir(), "savepoint")
			n := 100
			more := func(checkpoints int) {
				for range checkpoints {
					c.feed("in", n, 10, 10)
					n += 10
					eventually(t, "more results", func() bool { return diff(c.read("out"), wantSums(n, 10)) == nil })
				}
			}
			interrupted(c, o, dir, func() { more(tc.before) })

			goOn := make(chan struct{})
			var said *atomic.Bool
			o.Fault = func(s fault.Step) {
				switch s {
				case fault.Built: // everything is read but the older pointers
					said = c.answerOneRead(tc.code)
				case fault.SavepointBegun:
					<-goOn
				}
			}
			done := make(chan error, 1)
			o.Listener = &checkpoint.Listener{OnSavepoint: func(e checkpoint.SavepointEvent) { done <- e.Err }}
			j := start(t, sums(1), o)
			eventually(t, "the job to run", func() bool { return j.Ran() })
			if !said.Load() {
				t.Error("no older pointer was asked for")
			}
			more(20)
			close(goOn)
			if err := <-done; err != nil {
				t.Error(err)
			}
			j.stop()
			verify(t, dir)
		})
	}
}

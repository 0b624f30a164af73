package job_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// Whatever the moment, whoever asks for a savepoint gets an answer, and the job ends when it is told to.
func TestEverySavepointRequestIsAnsweredWhenTheJobStops(t *testing.T) {
	for i := range 20 {
		c := newCluster(t, "in", "out")
		c.feed("in", 0, 500, 10)
		j := start(t, sums(1), c.options(5*time.Millisecond))
		eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
		answers := make(chan error, 3)
		dir := t.TempDir()
		for _, name := range []string{"a", "a", "b"} {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				err := j.Savepoint(ctx, filepath.Join(dir, name))
				if ctx.Err() != nil && j.Status().Phase != runtime.Ended {
					t.Error("no answer, and the job has not ended")
				}
				answers <- err
			}()
		}
		if i%2 == 0 {
			<-answers
			answers <- nil
		}
		j.stop()
		for range 3 {
			<-answers
		}
		for _, name := range []string{"a", "b"} {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(filepath.Join(path, checkpoint.ManifestName)); err != nil {
				continue // it was refused
			}
			verify(t, path)
		}
	}
}

func verify(t *testing.T, dir string) *checkpoint.Manifest {
	t.Helper()
	store, err := checkpoint.OpenStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	files := checkpoint.NewFiles(store, nil)
	m, err := checkpoint.ReadManifest(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	return m
}

// A savepoint whose copy a crash interrupted is finished by the recovery, and is that of the checkpoint it was asked of.
func TestRecoveryFinishesASavepoint(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed("in", 0, 500, 10)
	o := c.options(5 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "savepoint")
	var j *running
	var asked int64
	triggered := make(chan struct{})
	o.Listener = &checkpoint.Listener{
		OnTrigger: func(e checkpoint.TriggerEvent) {
			if e.Savepoint != "" {
				asked = e.Checkpoint
			}
		},
		OnComplete: func(e checkpoint.CompleteEvent) {
			if asked != 0 && e.Checkpoint == asked {
				j.crash(errCrash) // it is committed, and its copy has not begun
				close(triggered)
			}
		},
	}
	j = start(t, sums(1), o)
	j.past(2)
	go func() { _ = j.Savepoint(context.Background(), dir) }()
	<-triggered
	<-j.done
	o.Listener = nil
	next := start(t, sums(1), o)
	eventually(t, "the manifest", func() bool {
		_, err := os.Stat(filepath.Join(dir, checkpoint.ManifestName))
		return err == nil
	})
	next.stop()
	if m := verify(t, dir); m.Pointer.Checkpoint != asked {
		t.Errorf("the savepoint is of checkpoint %d, want %d", m.Pointer.Checkpoint, asked)
	}
}

// The directory of a savepoint is the user's: once a lineage has begun from it, it may go.
func TestSavepointMayBeDeletedOnceTheLineageHasBegun(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed("in", 0, 500, 10)
	o := c.options(5 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "savepoint")
	j := start(t, sums(1), o)
	j.past(2)
	if err := j.Savepoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	j.stop()
	o.Start = job.Start{From: dir}
	j = start(t, sums(1), o)
	eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
	lineage := j.Status().Lineage
	j.kill()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	j = start(t, sums(1), o)
	eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
	if got := j.Status().Lineage; got != lineage {
		t.Errorf("lineage %s, want %s", got, lineage)
	}
	j.stop()
}

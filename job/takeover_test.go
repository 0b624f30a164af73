package job_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// A start that is refused fences nobody: the job that runs goes on as if nothing had happened.
func TestRefusedStartDoesNotDisturbTheRunningJob(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	c.feed("in", 0, 500, 10)
	j := start(t, sums(1), o)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(500, 10)) == nil })

	noSavepoint := o
	noSavepoint.Start = job.Start{From: filepath.Join(t.TempDir(), "nothing")}
	if err := start(t, sums(1), noSavepoint).wait(); err == nil || !strings.Contains(err.Error(), "there is no such directory") {
		t.Errorf("got %v", err)
	}

	renamed := job.New("sums")
	events := job.From(renamed, "in", in("in"), decodeKeyed)
	byKey := job.KeyBy(events, "by-key", func(k keyed) string { return k.Key })
	total := job.Via(byKey, "total", operators.Reduce(func(_, b keyed) keyed { return b }))
	job.To(total, "out", out("out"), func(keyed, *stream.Record) error { return nil })
	err := start(t, renamed, o).wait()
	var refused *checkpoint.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), `operator "sum" has state but the job has no such operator`) {
		t.Errorf("got %v", err)
	}

	attempt := j.Status().Attempt
	c.feed("in", 500, 500, 10)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(1000, 10)) == nil })
	if j.Status().Attempt != attempt || j.Metrics().Restarts.Load() != 0 {
		t.Error("the running job was restarted")
	}
	j.stop()
}

// A process that is told to stop while it cannot commit says that there is no last checkpoint.
func TestStopWithoutALastCheckpointIsAnError(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(500 * time.Millisecond)
	o.Producer.RequestTimeout = 500 * time.Millisecond
	c.feed("in", 0, 500, 10)
	j := start(t, sums(1), o)
	eventually(t, "the records to be read", func() bool {
		read := int64(0)
		j.Metrics().Each(func(_ string, _ int, s *runtime.StepMetrics) { read += s.RecordsIn.Load() })
		return read == 500
	})
	c.fake.Close()
	eventually(t, "the attempt to end", func() bool { return j.Status().Error != "" })
	j.Stop()
	if err := j.wait(); err == nil || !strings.Contains(err.Error(), "stopped without a last checkpoint: ") {
		t.Errorf("got %v", err)
	}
}

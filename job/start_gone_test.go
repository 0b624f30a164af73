package job_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/source"
)

// Records that are gone are found before anybody is fenced, and by the comparison with the savepoint.
func TestAStartWhoseRecordsAreGoneDoesNotDisturbTheRunningJob(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "savepoint")
	c.left(sums(1), o, 100, dir)
	j := start(t, sums(1), o)
	c.feed("in", 100, 100, 10)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(200, 10)) == nil })
	attempt := j.Status().Attempt

	from := o
	from.Start = job.Start{From: dir}
	if f, err := sums(1).CheckSavepoint(t.Context(), from); err != nil || !f.Fits || f.Err() != nil {
		t.Fatalf("%+v, %v", f, err)
	}
	adm := kadm.NewClient(c.client)
	ends, err := adm.ListEndOffsets(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adm.DeleteRecords(t.Context(), ends.Offsets()); err != nil {
		t.Fatal(err)
	}
	f, err := sums(1).CheckSavepoint(t.Context(), from)
	if err != nil || f.Fits || len(f.Findings) != 1 || !strings.Contains(f.Findings[0], "is gone") {
		t.Errorf("%+v, %v", f, err)
	}
	var loss *source.DataLossError
	if err := start(t, sums(1), from).wait(); !errors.As(err, &loss) {
		t.Errorf("got %v", err)
	}
	c.feed("in", 200, 100, 10)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(300, 10)) == nil })
	if j.Status().Attempt != attempt || j.Metrics().Restarts.Load() != 0 {
		t.Error("the running job was restarted")
	}
	j.stop()
}

// A topic that was made again is refused before anybody is fenced, and is a case for the policy.
func TestATopicThatWasMadeAgainFollowsThePolicy(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	c.left(sums(1), o, 100, filepath.Join(t.TempDir(), "savepoint"))
	if _, err := kadm.NewClient(c.client).DeleteTopic(t.Context(), "in"); err != nil {
		t.Fatal(err)
	}
	c.create("in")
	c.client.PurgeTopicsFromClient("in")
	if said := refused(t, sums(1), o); !strings.Contains(said, `source "in": topic in was deleted and made again`) {
		t.Error(said)
	}
	o.Start.OnIncompatible = "fresh"
	c.feed("in", 0, 50, 10)
	want := sumsAfter(wantSums(100, 10), 0, 50, 10)
	for range 2 {
		j := start(t, sums(1), o)
		eventually(t, "the results of the new topic", func() bool { return diff(c.read("out"), want) == nil })
		j.runs()
		j.stop()
	}
	if err := diff(c.read("out"), want); err != nil {
		t.Error(err)
	}
}

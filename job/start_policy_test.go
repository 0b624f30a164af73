package job_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/source"
)

// in2 reads topics for ever.
func in2(topics ...string) source.Spec {
	return source.Kafka(source.KafkaOptions{Topics: topics, DiscoveryInterval: 10 * time.Millisecond})
}

// State whose type does not fit is refused before anybody is fenced, dropped if the policy names it, or left behind; on every
// path alike, and once (C42, C43).
func TestWhatDoesNotFitFollowsThePolicy(t *testing.T) {
	for i := range 3 {
		t.Run(paths("", 1)[i].name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, "in", "out")
			o := c.options(5 * time.Millisecond)
			o.Checkpoint.Retained = 50
			dir := filepath.Join(t.TempDir(), "savepoint")
			id := c.left(sums(1), o, 100, dir)

			for _, policy := range []string{"", "fail", "drop:seen", "drop:sum/other"} {
				o.Start = paths(dir, id)[i].start
				o.Start.OnIncompatible = policy
				if said := refused(t, texts(), o); !strings.Contains(said, `operator "sum"`) || !strings.Contains(said, "(--drop-state sum/") {
					t.Error(said)
				}
			}
			o.Start.OnIncompatible = "drop:seen,sum" // a mistyped name is one from the beginning
			if said := refused(t, texts(), o); !strings.Contains(said, "--on-incompatible drop:seen: nothing is called so") {
				t.Error(said)
			}
			want := wantSums(100, 10)
			n := 100
			for _, policy := range []string{"drop:out,sum", "fresh"} {
				o.Start = paths(dir, id)[i].start
				if policy == "fresh" && o.Start.From != "" {
					o.Start.Again = true
				}
				o.Start.OnIncompatible = policy
				g := texts
				if policy == "fresh" && i == 0 {
					g = func() *job.Graph { return sums(1) } // the last checkpoint is that of the texts
				}
				j := start(t, g(), o)
				j.runs()
				c.feed("in", n, 50, 10)
				if policy == "fresh" {
					want = sumsAfter(want, 0, n+50, 10) // the whole input again
				} else {
					want = sumsAfter(want, n, n+50, 10)
				}
				n += 50
				eventually(t, "results with "+policy, func() bool { return diff(c.read("out"), want) == nil })
				j.kill()
				o.Start.Again = false
				j = start(t, g(), o) // the same flags
				j.runs()
				j.stop()
				if err := diff(c.read("out"), want); err != nil {
					t.Errorf("%s, repeated: %v", policy, err)
				}
			}
		})
	}
}

// The types of state are compared before anybody is fenced: a job that runs does not notice (C42).
func TestAStartWhoseStateDoesNotFitDoesNotDisturbTheRunningJob(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	c.feed("in", 0, 100, 10)
	j := start(t, sums(1), o)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
	attempt := j.Status().Attempt
	for _, s := range []job.Start{{}, {Drop: []string{"some"}}, {OnIncompatible: "drop:some"}} {
		o.Start = s
		refused(t, texts(), o)
	}
	c.feed("in", 100, 100, 10)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(200, 10)) == nil })
	if j.Status().Attempt != attempt || j.Metrics().Restarts.Load() != 0 {
		t.Error("the running job was restarted")
	}
	j.stop()
}

// Offsets without state: what was read before the savepoint is not read again, and the state is that of the records behind it.
func TestFreshStateWithTheOffsetsOfASavepoint(t *testing.T) {
	for _, from := range []string{"a savepoint", "a checkpoint"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, "in", "out")
			o := c.options(5 * time.Millisecond)
			o.Checkpoint.Retained = 100
			dir := filepath.Join(t.TempDir(), "savepoint")
			id := c.left(sums(1), o, 100, dir)
			j := start(t, sums(1), o)
			c.feed("in", 100, 60, 10)
			eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(160, 10)) == nil })
			lineage := j.Status().Lineage
			j.stop()

			o.Start = job.Start{Fresh: true, OffsetsFrom: dir}
			if from == "a checkpoint" {
				o.Start.OffsetsFrom = paths(dir, id)[2].start.From
			}
			want := sumsAfter(wantSums(160, 10), 100, 160, 10)
			j = start(t, texts(), o) // its state would not fit
			eventually(t, "the results behind the savepoint again", func() bool { return diff(c.read("out"), want) == nil })
			if got := j.Status().Lineage; got == lineage {
				t.Error("no new lineage")
			}
			lineage = j.Status().Lineage
			j.kill()
			if err := os.RemoveAll(dir); err != nil { // the lineage has begun, and needs it no more
				t.Fatal(err)
			}
			j = start(t, texts(), o)
			eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
			if got := j.Status().Lineage; got != lineage {
				t.Errorf("the same flags again: lineage %s, want %s", got, lineage)
			}
			j.stop()
			if err := diff(c.read("out"), want); err != nil {
				t.Error(err)
			}
			all := c.pointers(o)
			if i := slices.IndexFunc(all, func(p *checkpoint.Pointer) bool { return p.Lineage == lineage }); !strings.HasPrefix(all[i].Request, "offsets:") {
				t.Errorf("request %s", all[i].Request)
			}
		})
	}
}

//go:build integration

package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// A checkpoint topic that lost its records is never taken for that of a job that has not run (rule 11).
func TestCheckpointTopicWithoutItsRecordsStopsTheJob(t *testing.T) {
	t.Parallel()
	for _, accident := range []struct {
		name string
		do   func(*testing.T, *sumsJob)
	}{
		{"truncated", func(t *testing.T, j *sumsJob) { j.truncatePointers(t, 0) }},
		{"deleted", func(t *testing.T, j *sumsJob) { j.deletePointers(t) }},
	} {
		t.Run(accident.name+" while the job is stopped", func(t *testing.T) {
			j, p := someCheckpoints(t)
			j.stop(t, p)
			accident.do(t, j)
			j.staysRefused(t)
		})
		t.Run(accident.name+" while the job runs", func(t *testing.T) {
			j, p := someCheckpoints(t)
			accident.do(t, j)
			// The job may notice, or go on: what it writes is still right, and a start from nothing would not be.
			j.cluster.ProduceNumbers(t, j.in, harness.Numbers{Seed: 1, Keys: 50}, 1000, 1500)
			harness.For(t, time.Second)
			running := p.Running()
			p.Kill()
			t.Logf("it runs afterwards: %v: %s", running, linesWith(p.Stderr(), "processor: "))
			j.staysRefused(t)
		})
	}
}

// The pointer is there, and what it lists in the records before it is not.
func TestCheckpointTopicWithoutItsOlderRecordsStopsTheJob(t *testing.T) {
	t.Parallel()
	j, p := someCheckpoints(t)
	p.Kill()
	j.truncatePointers(t, 1)
	j.staysRefused(t)
}

// someCheckpoints is a job that runs and whose state lies in several records of its checkpoint topic.
func someCheckpoints(t *testing.T) (*sumsJob, *harness.Process) {
	t.Helper()
	j := newSums(t, shared(t))
	p := j.start(t)
	for i := range int64(5) {
		j.cluster.ProduceNumbers(t, j.in, harness.Numbers{Seed: 1, Keys: 50}, 200*i, 200*i+200)
		j.waitForOutput(t, 200*i+200, 30*time.Second)
	}
	return j, p
}

// staysRefused checks that the job does not start, with a line that says what happened, and that it has written nothing.
func (j *sumsJob) staysRefused(t *testing.T) {
	t.Helper()
	results := harness.Count(j.cluster.Read(t, j.out))
	for range 2 { // a supervisor tries again
		j.refused(t, j.program(t), cli.ExitRestore, j.checkpointTopic())
	}
	if now := harness.Count(j.cluster.Read(t, j.out)); now != results {
		t.Errorf("%d results, there were %d: something was written", now, results)
	}
}

// truncatePointers removes the records of the checkpoint topic but for the last so many pointers.
func (j *sumsJob) truncatePointers(t *testing.T, keep int) {
	t.Helper()
	ctx := harness.Context(t, 30*time.Second)
	ends, err := j.cluster.Admin.ListEndOffsets(ctx, j.checkpointTopic())
	if err != nil {
		t.Fatal(err)
	}
	below := ends[j.checkpointTopic()][0].Offset
	if keep > 0 {
		records := j.cluster.Read(t, j.checkpointTopic())[0]
		below = records[len(records)-keep].Offset
	}
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: j.checkpointTopic(), Partition: 0, At: below})
	deleted, err := j.cluster.Admin.DeleteRecords(ctx, offsets)
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (j *sumsJob) deletePointers(t *testing.T) {
	t.Helper()
	ctx := harness.Context(t, 30*time.Second)
	deleted, err := j.cluster.Admin.DeleteTopics(ctx, j.checkpointTopic())
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	harness.Until(t, 30*time.Second, "the topic is gone", func() (bool, string) {
		found, err := j.cluster.Admin.ListTopics(ctx, j.checkpointTopic())
		return err == nil && !found.Has(j.checkpointTopic()), fmt.Sprint(err)
	})
}

// The checkpoint topic may have been made by somebody who allows it less than a pointer needs: the rest goes into a file.
func TestPointerLargerThanTheTopicTakesGoesIntoAFile(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 512KiB"}
	j.makeCheckpointTopic(t, 4096)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 2000}, 4000)
	p := j.start(t)
	j.waitForMore(t, 3000)
	p.Kill()
	p = j.start(t)
	j.waitForMore(t, 3000)
	j.finish(t, feed, p)
	largest := 0
	for _, r := range j.cluster.Read(t, j.checkpointTopic())[0] {
		largest = max(largest, len(r.Value))
	}
	if largest == 0 || largest > 4096 {
		t.Errorf("the largest pointer has %d bytes, the topic takes 4096", largest)
	}
}

// If not even that fits, the job says so.
func TestCheckpointTopicThatTakesNoPointerIsNamed(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.makeCheckpointTopic(t, 300)
	p := j.program(t).Start(t)
	if code := p.Exit(30 * time.Second); code == cli.ExitOK {
		t.Errorf("exit code %d, want another", code)
	}
	oneLine(t, p, j.checkpointTopic(), "max.message.bytes")
}

// makeCheckpointTopic makes the job's checkpoint topic before the job does, with a limit on its records.
func (j *sumsJob) makeCheckpointTopic(t *testing.T, maxBytes int) {
	t.Helper()
	forever, limit := "-1", fmt.Sprint(maxBytes)
	configs := map[string]*string{"retention.ms": &forever, "retention.bytes": &forever, "max.message.bytes": &limit}
	if _, err := j.cluster.Admin.CreateTopic(harness.Context(t, 30*time.Second), 1, 1, configs, j.checkpointTopic()); err != nil {
		t.Fatal(err)
	}
}

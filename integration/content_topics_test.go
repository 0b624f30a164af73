//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// makeAgain deletes a topic and makes another one of the same name.
func makeAgain(t *testing.T, cluster *harness.Cluster, name string, partitions int32) {
	t.Helper()
	ctx := harness.Context(t, time.Minute)
	if _, err := cluster.Admin.DeleteTopic(ctx, name); err != nil {
		t.Fatalf("delete topic %s: %v", name, err)
	}
	forever := "-1"
	harness.Until(t, 30*time.Second, "topic "+name+" is made again", func() (bool, string) {
		_, err := cluster.Admin.CreateTopic(ctx, partitions, 1, map[string]*string{"retention.ms": &forever}, name)
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	waitLeaders(t, cluster, name, int(partitions))
}

// waitLeaders waits until every partition of a topic answers.
func waitLeaders(t *testing.T, cluster *harness.Cluster, name string, partitions int) {
	t.Helper()
	harness.Until(t, 30*time.Second, "leaders of topic "+name, func() (bool, string) {
		ends, err := cluster.Admin.ListEndOffsets(harness.Context(t, 10*time.Second), name)
		if err == nil {
			err = ends.Error()
		}
		return err == nil && len(ends[name]) == partitions, fmt.Sprint(len(ends[name]), " partitions, ", err)
	})
}

// endedBy expects the process to end by itself with the exit code, and to say why in one line.
func endedBy(t *testing.T, p *harness.Process, code int, wanted ...string) {
	t.Helper()
	if got := p.Exit(time.Minute); got != code {
		t.Errorf("exit code %d, want %d:\n%s", got, code, p.Output())
	}
	oneLine(t, p, wanted...)
}

// An input that is deleted and made again while the job runs is never read on: its offsets mean other records now.
func TestInputMadeAgainStopsTheRunningJob(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 100)
	p := j.start(t)
	j.waitForOutput(t, 100, time.Minute)

	makeAgain(t, j.cluster, j.in, 4)
	j.cluster.ProduceNumbers(t, j.in, numbers, 100, 300)
	// Whether the job asks in the moment in which there is no topic is chance.
	code := p.Exit(time.Minute)
	if code != cli.ExitRestore && code != cli.ExitMissingTopic {
		t.Errorf("exit code %d:\n%s", code, p.Output())
	}
	oneLine(t, p, "topic "+j.in, map[int]string{cli.ExitRestore: "deleted and made again", cli.ExitMissingTopic: "does not exist"}[code])
	j.refused(t, j.program(t), cli.ExitRestore, j.in, "deleted and made again")
	if n := j.results(t).Len(); n != 100 {
		t.Errorf("%d results, want those of the first topic's 100 records", n)
	}
}

// The same while it is stopped; and a savepoint of the old topic does not fit the new one, whose offsets end before.
func TestInputMadeAgainWhileStoppedIsRefused(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 100)
	p := j.start(t)
	j.waitForOutput(t, 100, time.Minute)
	savepoint := j.savepoint(t)
	j.stop(t, p)

	makeAgain(t, j.cluster, j.in, 4)
	for _, c := range []struct {
		what string
		args []string
		to   int64 // records in the new topic
	}{
		{"empty", nil, 0},
		{"empty, from the savepoint", []string{"--from", savepoint}, 0},
		{"shorter, from the savepoint", []string{"--from", savepoint}, 20},
		{"longer", nil, 400},
		{"longer, from the savepoint", []string{"--from", savepoint}, 400},
	} {
		if end := j.cluster.End(t, j.in); end < c.to {
			j.cluster.ProduceNumbers(t, j.in, numbers, end, c.to)
		}
		t.Log(c.what)
		j.refused(t, j.program(t, c.args...), cli.ExitRestore, "topic "+j.in, "deleted and made again")
	}
	if n := j.results(t).Len(); n != 100 {
		t.Errorf("%d results, want those of the first topic's 100 records", n)
	}

	// Who wants the new topic says so.
	p = j.start(t, "--fresh=new-topic")
	j.waitForOutput(t, 500, time.Minute)
	j.stop(t, p)
}

// An output that is deleted and made again stops the job: what it wrote before is gone.
func TestOutputMadeAgainStopsTheJob(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 100)
	p := j.start(t)
	j.waitForOutput(t, 100, time.Minute)

	makeAgain(t, j.cluster, j.out, 4)
	j.cluster.ProduceNumbers(t, j.in, numbers, 100, 200)
	code := p.Exit(time.Minute)
	if code != cli.ExitRestore && code != cli.ExitMissingTopic {
		t.Errorf("exit code %d:\n%s", code, p.Output())
	}
	oneLine(t, p, j.out)
	j.refused(t, j.program(t), cli.ExitRestore, j.out)
	if n := harness.Count(j.cluster.Read(t, j.out)); n != 0 {
		t.Errorf("%d results in the new topic, want none", n)
	}
}

// C20: partitions that are added while the job is stopped are read from their beginning, whatever start says.
func TestPartitionsAddedWhileStoppedAreReadFromTheirBeginning(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.source = []string{"start: latest"}
	j.stop(t, j.start(t))
	if _, err := j.cluster.Admin.CreatePartitions(harness.Context(t, time.Minute), 3, j.in); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, j.cluster, j.in, 7)
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 200}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 1000)
	p := j.start(t)
	j.waitForOutput(t, 1000, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, 1000)
}

// deleteBefore removes the records of every partition of the input before the given offsets.
func (j *sumsJob) deleteBefore(t *testing.T, before map[int32]int64) {
	t.Helper()
	offsets := kadm.Offsets{}
	for partition, at := range before {
		offsets.AddOffset(j.in, partition, at, -1)
	}
	deleted, err := j.cluster.Admin.DeleteRecords(harness.Context(t, 30*time.Second), offsets)
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// C22: records that expired before they were read end the job by default, which names the split and both offsets; with
// on_data_loss: earliest it goes on with what is left.
func TestRecordsThatExpiredUnreadAreNamed(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.source = []string{"fetch_max_wait: 20ms"}
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 400)
	p := j.start(t)
	j.waitForOutput(t, 400, time.Minute)

	// The process is frozen, and its last fetch answered, so that it is certain what it has not read.
	p.Freeze()
	harness.For(t, 500*time.Millisecond)
	before := j.cluster.Read(t, j.in)
	j.cluster.ProduceNumbers(t, j.in, numbers, 400, 800)
	const partition = 2
	at := int64(len(before[partition]))
	j.deleteBefore(t, map[int32]int64{partition: at + 10})
	p.Thaw()
	named := []string{fmt.Sprintf("topic %s partition %d: offset ", j.in, partition), fmt.Sprintf("is gone (the log starts at %d)", at+10), "on_data_loss"}
	endedBy(t, p, cli.ExitDataLoss, named...)
	// Nothing is repaired by starting again.
	j.refused(t, j.program(t), cli.ExitDataLoss, named...)

	j.source = append(j.source, "on_data_loss: earliest")
	p = j.start(t)
	left := j.cluster.Read(t, j.in)
	for q, records := range before {
		if q == partition {
			left[q] = append(records, left[q]...)
		}
	}
	j.waitForOutput(t, int64(harness.Count(left)), time.Minute)
	j.stop(t, p)
	if !strings.Contains(p.Output(), fmt.Sprint("log_start=", at+10)) {
		t.Errorf("what is missing is not in the log:\n%s", p.Output())
	}
	want, err := harness.RunningSums(left)
	if err != nil {
		t.Fatal(err)
	}
	if err := want.Compare(j.results(t)); err != nil {
		t.Error(err)
	}
}

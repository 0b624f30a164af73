//go:build integration

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// command runs the program with the job's file as what the arguments call JOB, and returns its exit code and output.
func (j *sumsJob) command(t *testing.T, args ...string) (int, *harness.Process) {
	t.Helper()
	for i := range args {
		if args[i] == "JOB" {
			args[i] = j.file(t)
		}
	}
	p := harness.Program{Path: processor, Args: args, Dir: j.dir}.Start(t)
	return p.Exit(time.Minute), p
}

// C24: offsets go back to a time and state is kept, on a broker that is asked where that time is.
func TestOffsetsGoBackToATimeAndStateIsKept(t *testing.T) {
	j := newSums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}
	p := j.start(t)
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 2000)
	j.waitForOutput(t, 2000, 20*time.Second)
	at := numbers.Record(j.in, 2000).Timestamp
	j.cluster.ProduceNumbers(t, j.in, numbers, 2000, 3000)
	j.waitForOutput(t, 3000, 20*time.Second)
	from := j.savepoint(t)
	j.stop(t, p)
	before := j.results(t)

	to := filepath.Join(j.dir, "back")
	code, c := j.command(t, "savepoint", "rewrite", from, "--to", to, "--job", "JOB", "--json",
		"--set-offset", j.in+"=timestamp:"+at.UTC().Format(time.RFC3339Nano))
	var out struct {
		Effects []struct {
			Kind  string
			Split *struct{ Records int64 }
		}
	}
	if err := json.Unmarshal([]byte(c.Stdout()), &out); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %v:\n%s", code, err, c.Output())
	}
	again := int64(0)
	for _, e := range out.Effects {
		if e.Kind == "read_again" {
			again += e.Split.Records
		}
	}
	if again != 1000 {
		t.Errorf("%d records are said to be read again, want 1000:\n%s", again, c.Stdout())
	}
	p = j.start(t, "--from", to)
	j.waitForOutput(t, 4000, 20*time.Second)
	j.stop(t, p)

	// What was read since that time is added once more.
	input := j.cluster.Read(t, j.in)
	all, err := harness.RunningSums(input)
	if err != nil {
		t.Fatal(err)
	}
	done, err := harness.CountByKey(input, func(i int64) bool { return i < 2000 })
	if err != nil {
		t.Fatal(err)
	}
	want := harness.Sums{}
	for key, sums := range all {
		sum := sums[len(sums)-1]
		for i := done[key]; i < len(sums); i++ {
			sum += sums[i]
			if i > 0 {
				sum -= sums[i-1]
			}
			want[key] = append(want[key], sum)
		}
	}
	got := harness.Sums{}
	for key, sums := range j.results(t) {
		if rest := sums[len(before[key]):]; len(rest) > 0 {
			got[key] = rest
		}
	}
	if err := want.Compare(got); err != nil {
		t.Error(err)
	}
	j.checkCorners(t)
}

// The offsets of consumers of either protocol are set to those of a savepoint when nobody is in the group; the job's own never.
func TestAConsumersOffsetsAreSetToASavepoint(t *testing.T) {
	j := newSums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}
	p := j.start(t)
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 1000)
	j.waitForOutput(t, 1000, 20*time.Second)
	to := j.savepoint(t)
	j.cluster.ProduceNumbers(t, j.in, numbers, 1000, 1500)
	j.waitForOutput(t, 1500, 20*time.Second)

	for _, c := range []struct {
		what string
		opts []kgo.Opt
	}{
		{"classic", []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer())}},
		{"KIP-848", []kgo.Opt{kgo.ServerSideBalancer()}},
	} {
		t.Run(c.what, func(t *testing.T) {
			group := harness.Name("readers")
			reset := []string{"offsets", "reset", "--to", to, "--group", group, "--job", "JOB"}
			cl, err := kgo.NewClient(append(c.opts, kgo.SeedBrokers(j.cluster.Brokers...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(j.in),
				kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ClientID("reader-1"), kgo.DisableAutoCommit())...)
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			ctx := harness.Context(t, 30*time.Second)
			for n := 0; n < 1500; {
				fetched := cl.PollFetches(ctx)
				if err := fetched.Err(); err != nil {
					t.Fatal(err)
				}
				n += fetched.NumRecords()
			}
			if err := cl.CommitUncommittedOffsets(ctx); err != nil {
				t.Fatal(err)
			}
			if code, c := j.command(t, append(reset, "--execute")...); code != cli.ExitOther || !strings.Contains(c.Stderr(), "has active members: ") || !strings.Contains(c.Stderr(), "(client reader-1 on ") {
				t.Errorf("with a member: exit code %d:\n%s", code, c.Output())
			}
			cl.Close()
			harness.Until(t, 20*time.Second, "an empty group", func() (bool, string) {
				code, c := j.command(t, reset...)
				return code == cli.ExitOK && strings.Contains(c.Stdout(), "nothing was done"), c.Output()
			})
			if n := committed(t, j, group); n != 1500 {
				t.Errorf("after a dry run %d are committed", n)
			}
			if code, c := j.command(t, append(reset, "--execute")...); code != cli.ExitOK {
				t.Fatalf("exit code %d:\n%s", code, c.Output())
			}
			if n := committed(t, j, group); n != 1000 {
				t.Errorf("%d are committed, want the savepoint's 1000", n)
			}
		})
	}
	if code, c := j.command(t, "offsets", "reset", "--to", to, "--job", "JOB", "--execute"); code != cli.ExitOther || !strings.Contains(c.Stderr(), "run JOB --from "+to) {
		t.Errorf("the job's own: exit code %d:\n%s", code, c.Output())
	}
	// The job does not go by its group: committing something else there changes nothing.
	var wrong kadm.Offsets
	for partition := range int32(4) {
		wrong.Add(kadm.Offset{Topic: j.in, Partition: partition, At: 0, LeaderEpoch: -1})
	}
	if _, err := j.cluster.Admin.CommitOffsets(harness.Context(t, 10*time.Second), j.name, wrong); err != nil {
		t.Fatal(err)
	}
	if code, c := j.command(t, "offsets", "show", "JOB"); code != cli.ExitOK || !strings.Contains(c.Stdout(), "its group "+j.name+" is a copy for people") {
		t.Errorf("show: exit code %d:\n%s", code, c.Output())
	}
	j.stop(t, p)
	p = j.start(t)
	j.cluster.ProduceNumbers(t, j.in, numbers, 1500, 2000)
	j.waitForOutput(t, 2000, 20*time.Second)
	j.stop(t, p)
	j.checkInvariants(t, 2000)
}

func committed(t *testing.T, j *sumsJob, group string) int64 {
	t.Helper()
	offsets, err := j.cluster.Admin.FetchOffsets(harness.Context(t, 10*time.Second), group)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, o := range offsets.Sorted() {
		n += o.At
	}
	return n
}

// garbage writes a file that nobody needs into the job's storage.
func (j *sumsJob) garbage(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(j.dir, "state", filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte("garbage"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A collector runs again and again beside a job that is killed again and again: nothing that a restart needs is gone.
func TestGarbageIsCollectedWhileTheJobIsKilled(t *testing.T) {
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 1B", "retained: 3", "base_after: 64KiB"}
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 1000}, 2000)
	current := j.start(t)
	deleted := 0
	collect := func() {
		t.Helper()
		code, c := j.command(t, "checkpoints", "gc", "JOB", "--grace", "0s", "--json")
		var out struct{ Deleted []string }
		if err := json.Unmarshal([]byte(c.Stdout()), &out); err != nil || code != cli.ExitOK {
			t.Fatalf("gc: exit code %d, %v:\n%s", code, err, c.Output())
		}
		deleted += len(out.Deleted)
	}
	for range 10 {
		harness.For(t, time.Duration(rng.Int64N(int64(300*time.Millisecond))))
		collect()
		current.Kill()
		j.garbage(t, checkpoint.FileName(j.name, 0, uuid.NewString(), 1, checkpoint.Hash{}, "delta"))
		collect()
		// While the next one recovers, and before it has cleaned up.
		next := j.program(t)
		started := next.Start(t)
		collect()
		j.waitReady(t, started)
		current = started
		j.waitForMore(t, 200)
	}
	if deleted < 10 {
		t.Errorf("%d files were collected, want the 10 that were planted", deleted)
	}
	j.finish(t, feed, current)
	collect()
	code, c := j.command(t, "checkpoints", "list", "JOB", "--json")
	var listed []struct {
		Checkpoint int64
		Restorable bool
		Lacks      string
	}
	if err := json.Unmarshal([]byte(c.Stdout()), &listed); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %v:\n%s", code, err, c.Output())
	}
	for i, l := range listed {
		if i < 3 && !l.Restorable {
			t.Errorf("checkpoint %d lacks %s", l.Checkpoint, l.Lacks)
		}
	}
}

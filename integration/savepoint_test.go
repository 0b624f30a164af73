//go:build integration

package integration

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// A job that goes back to a savepoint continues with exactly its numbers, whatever was done after it; with twice the
// parallelism too. C17: what the restored job writes is committed although checkpoints with higher IDs were before.
func TestRestoredJobContinuesWithTheNumbersOfTheSavepoint(t *testing.T) {
	j := newSums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}
	p := j.start(t)
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 2000)
	j.waitForOutput(t, 2000, 20*time.Second)
	dir := j.savepoint(t)
	j.cluster.ProduceNumbers(t, j.in, numbers, 2000, 5000)
	j.waitForOutput(t, 5000, 20*time.Second)
	j.stop(t, p)
	j.checkInvariants(t, 5000)

	for _, c := range []struct {
		what        string
		parallelism int
		flags       []string
	}{
		{"the same parallelism", 2, []string{"--from", dir}},
		{"twice the parallelism", 4, []string{"--from", dir, "--again"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			j.parallelism = c.parallelism
			before := j.results(t)
			p := j.start(t, c.flags...)
			j.waitForOutput(t, int64(before.Len())+3000, 30*time.Second)
			j.stop(t, p)
			j.checkContinuation(t, before, 2000, 5000)

			if len(c.flags) == 2 {
				// A supervisor repeats the flags at every start: the job must not go back again.
				before = j.results(t)
				p = j.start(t, c.flags...)
				harness.For(t, time.Second)
				p.Kill()
				p = j.start(t, c.flags...)
				j.stop(t, p)
				if after := j.results(t); after.Len() != before.Len() {
					t.Errorf("the same flags again wrote %d more results", after.Len()-before.Len())
				}
			}
		})
	}
}

// savepoint takes a savepoint of the running job and returns its folder.
func (j *sumsJob) savepoint(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(j.dir, "savepoint")
	p := harness.Program{Path: processor, Args: []string{"savepoint", "create", filepath.Join(j.dir, "sums.yaml"), "--address", j.address, "--dir", dir}}.Start(t)
	if code := p.Exit(time.Minute); code != 0 {
		t.Fatalf("savepoint create: exit code %d:\n%s", code, p.Output())
	}
	if got := strings.TrimSpace(p.Stdout()); got != dir {
		t.Errorf("savepoint create printed %q, want %q", got, dir)
	}
	return dir
}

// results are the sums in the output topic.
func (j *sumsJob) results(t *testing.T) harness.Sums {
	t.Helper()
	sums, err := harness.ReadSums(j.cluster.Read(t, j.out))
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// checkContinuation checks that since before the job has written the results of the records from up to to, and nothing
// else, continuing with the sums that the records before from had led to.
func (j *sumsJob) checkContinuation(t *testing.T, before harness.Sums, from, to int) {
	t.Helper()
	input := j.cluster.Read(t, j.in)
	all, err := harness.RunningSums(input)
	if err != nil {
		t.Fatal(err)
	}
	done, err := harness.CountByKey(input, func(i int64) bool { return i < int64(from) })
	if err != nil {
		t.Fatal(err)
	}
	want := harness.Sums{}
	for key, sums := range all {
		want[key] = sums[done[key]:]
	}
	if want.Len() != to-from {
		t.Fatalf("the oracle expects %d results, want %d", want.Len(), to-from)
	}
	got := harness.Sums{}
	for key, sums := range j.results(t) {
		got[key] = sums[len(before[key]):]
	}
	if err := want.Compare(got); err != nil {
		t.Error(err)
	}
}

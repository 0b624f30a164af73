//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/job/cli"
)

// recoverySteps are taken once or a few times at each start, in this order.
var recoverySteps = fault.RecoverySteps()

// faulty is the program's build that ends at a step it is told.
func faulty(t *testing.T) string {
	t.Helper()
	path, err := harness.Build("github.com/weirstream/weir/cmd/processor", "faults")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// killedAt starts the job so that it is killed when it takes a step for the n-th time, does what is given meanwhile, and
// waits for the kill. It fails the test if the job does not come to the step.
func (j *sumsJob) killedAt(t *testing.T, step fault.Step, n int, meanwhile func(), args ...string) {
	t.Helper()
	p := j.toKillAt(t, step, n, args...).Start(t)
	if meanwhile != nil {
		meanwhile()
	}
	if code := p.Exit(time.Minute); code != -1 {
		t.Fatalf("the job was to be killed at step %s, time %d, and ended with exit code %d:\n%s", step, n, code, p.Output())
	}
}

func (j *sumsJob) toKillAt(t *testing.T, step fault.Step, n int, args ...string) harness.Program {
	t.Helper()
	program := j.program(t, args...)
	program.Path = faulty(t)
	program.Env = []string{fmt.Sprintf("WEIR_FAULT=%s:%d", step, n)}
	return program
}

// newBusySums is a job that takes every step that there is within a second or so: each checkpoint writes a file, every
// few a base.
func newBusySums(t *testing.T, cluster *harness.Cluster) *sumsJob {
	j := newSums(t, cluster)
	j.interval = 20 * time.Millisecond
	j.checkpoint = []string{"inline_threshold: 1KiB", "base_after: 2KiB"}
	return j
}

// Every step that the engine names, so that a new one is covered by itself: the first time after a start, and some time later.
func TestKilledAtEveryStepLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	j := newBusySums(t, shared(t))
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 200}, 1000)
	p := j.start(t)
	j.waitForOutput(t, 1000, 20*time.Second)
	p.Kill()

	kills := 0
	for _, step := range fault.Steps() {
		times := []int{1, 2 + rng.IntN(6)}
		switch step {
		case fault.SavepointCopied:
			continue // only with --from: TestKilledAtEveryStepOfAStartFromASavepoint
		case fault.SlotFenced:
			times = []int{1, 2, 3, 4}
		case fault.PointersTrimmed, fault.SavepointBegun, fault.SavepointWritten:
			times = []int{1}
		default:
			if i := slices.Index(recoverySteps, step); i >= 0 && i < slices.Index(recoverySteps, fault.PointerWritten) || step == fault.Begun {
				times = []int{1}
			}
		}
		for _, n := range times {
			var meanwhile func()
			savepoint := filepath.Join(j.dir, fmt.Sprint("savepoint-", kills))
			if step == fault.SavepointBegun || step == fault.SavepointWritten {
				meanwhile = func() {
					harness.WaitReady(t, j.address, 30*time.Second)
					harness.Program{
						Path: processor, Args: []string{"savepoint", "create", j.file(t), "--address", j.address, "--dir", savepoint},
					}.Start(t).Exit(time.Minute)
				}
			}
			j.killedAt(t, step, n, meanwhile)
			kills++
			if meanwhile != nil {
				j.recoveryFinishes(t, savepoint)
			}
		}
	}
	t.Logf("%d kills at %d steps", kills, len(fault.Steps())-1)
	j.finish(t, feed, j.start(t))
}

// recoveryFinishes starts the job and waits until a savepoint that a kill interrupted is whole (rule 13).
func (j *sumsJob) recoveryFinishes(t *testing.T, savepoint string) {
	t.Helper()
	p := j.start(t)
	harness.Until(t, 30*time.Second, "the savepoint that was interrupted", func() (bool, string) {
		found, err := filepath.Glob(filepath.Join(savepoint, "*manifest*"))
		return err == nil && len(found) == 1, fmt.Sprint(found, err)
	})
	j.stop(t, p) // its last pointer lists the savepoint no more
}

// A first start is killed at each of its steps and repeated: where the job begins is decided once, and nothing is read twice.
func TestFirstStartKilledAtEveryStepBeginsOnce(t *testing.T) {
	t.Parallel()
	cluster := shared(t)
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}
	for _, step := range recoverySteps {
		switch step {
		case fault.DeltaRead, fault.SavepointCopied, fault.BaseFilePlaced:
			continue // there is no state
		}
		t.Run(string(step), func(t *testing.T) {
			j := newSums(t, cluster)
			cluster.ProduceNumbers(t, j.in, numbers, 0, 300)
			j.killedAt(t, step, 1, nil)
			p := j.start(t)
			j.waitForOutput(t, 300, 30*time.Second)
			j.stop(t, p)
			j.checkInvariants(t, 300)
		})
	}
}

// A supervisor repeats the flags of a start that was killed: the job goes back once, whatever step it had come to.
func TestKilledAtEveryStepOfAStartFromASavepoint(t *testing.T) {
	t.Parallel()
	j := newBusySums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}
	p := j.start(t)
	var savepoints []string
	for n := range int64(12) { // checkpoint after checkpoint, until there is a base
		j.cluster.ProduceNumbers(t, j.in, numbers, 50*n, 50*(n+1))
		j.waitForOutput(t, 50*(n+1), 20*time.Second)
	}
	if pointers := j.cluster.Pointers(t, j.checkpointTopic()); pointers[len(pointers)-1].Base == nil {
		t.Fatal("the job has made no base")
	}
	// What follows stays in deltas: the savepoints have both.
	j.stop(t, p)
	j.checkpoint = []string{"inline_threshold: 1KiB"}
	p = j.start(t)
	j.cluster.ProduceNumbers(t, j.in, numbers, 600, 650)
	j.waitForOutput(t, 650, 20*time.Second)
	for _, name := range []string{"one", "two"} { // in turn: a start from the one that the lineage began from does nothing
		savepoints = append(savepoints, j.savepoint(t))
		renamed := filepath.Join(j.dir, name)
		move(t, savepoints[len(savepoints)-1], renamed)
		savepoints[len(savepoints)-1] = renamed
		if name == "one" {
			j.cluster.ProduceNumbers(t, j.in, numbers, 650, 700)
			j.waitForOutput(t, 700, 20*time.Second)
		}
	}
	from := []int{650, 700}
	j.cluster.ProduceNumbers(t, j.in, numbers, 700, 1000)
	j.waitForOutput(t, 1000, 20*time.Second)
	j.stop(t, p)

	for i, step := range recoverySteps {
		t.Run(string(step), func(t *testing.T) {
			before := j.results(t)
			which := i % 2
			j.killedAt(t, step, 1, nil, "--from", savepoints[which])
			p := j.start(t, "--from", savepoints[which])
			j.waitForOutput(t, int64(before.Len()+1000-from[which]), 30*time.Second)
			j.stop(t, p)
			j.checkContinuation(t, before, from[which], 1000)
		})
	}
	j.checkCorners(t)
}

// The same with --fresh, which reads everything again, once.
func TestKilledAtEveryStepOfAFreshStart(t *testing.T) {
	t.Parallel()
	j := newBusySums(t, shared(t))
	j.cluster.ProduceNumbers(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 0, 500)
	p := j.start(t)
	j.waitForOutput(t, 500, 20*time.Second)
	j.stop(t, p)
	for _, step := range recoverySteps {
		switch step {
		case fault.DeltaRead, fault.SavepointCopied, fault.BaseFilePlaced:
			continue // a fresh start has no state
		}
		t.Run(string(step), func(t *testing.T) {
			before := j.results(t)
			fresh := "--fresh=" + string(step)
			j.killedAt(t, step, 1, nil, fresh)
			p := j.start(t, fresh)
			j.waitForOutput(t, int64(before.Len()+500), 30*time.Second)
			j.stop(t, p)
			j.checkContinuation(t, before, 0, 500)
		})
	}
	j.checkCorners(t)
}

// Two processes recover at the same time, and one is killed in the middle of it. The other, or the next, goes on.
func TestKilledWhileAnotherProcessRestores(t *testing.T) {
	t.Parallel()
	j := newBusySums(t, shared(t))
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 100}, 500)
	p := j.start(t)
	j.waitForOutput(t, 500, 20*time.Second)
	p.Kill()
	for _, step := range []fault.Step{fault.SlotFenced, fault.PointerRead, fault.StateOpened, fault.PointerWritten, fault.CommitSent, fault.Begun} {
		other := j.program(t).Start(t)
		harness.For(t, time.Duration(rng.Int64N(int64(200*time.Millisecond))))
		killed := j.toKillAt(t, step, 1).Start(t)
		if code := killed.Exit(time.Minute); code != -1 && code != cli.ExitTakenOver {
			t.Fatalf("step %s: exit code %d:\n%s", step, code, killed.Output())
		}
		before := j.cluster.End(t, j.out)
		harness.Until(t, time.Minute, "progress after a kill at "+string(step), func() (bool, string) {
			if !other.Running() {
				if code := other.Exit(0); code != cli.ExitTakenOver {
					t.Fatalf("step %s: the other process ended with exit code %d:\n%s", step, code, other.Output())
				}
				other = j.program(t).Start(t)
			}
			return j.cluster.End(t, j.out) > before+100, other.Output()
		})
		other.Kill()
	}
	j.finish(t, feed, j.start(t))
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// shortTransactions are the shortest timeouts with which a busy machine still completes every checkpoint (rule 17).
var shortTransactions = []string{"timeout: 2s", "transaction_timeout: 5s", "tolerable_failures: 1000"}

// openTransactions is how many of the job's transactions the broker has open.
func (j *sumsJob) openTransactions(t *testing.T) (open int) {
	t.Helper()
	for _, tx := range j.cluster.Transactions(t, j.transactionPrefix()) {
		if tx.State == "Ongoing" || strings.HasPrefix(tx.State, "Prepare") {
			open++
		}
	}
	return open
}

// freezeInTransaction stops the process in a moment in which it has a transaction open that nothing ends any more: a commit may
// have been on its way.
func (j *sumsJob) freezeInTransaction(t *testing.T, p *harness.Process) {
	t.Helper()
	harness.Until(t, time.Minute, "a transaction is open", func() (bool, string) {
		p.Freeze()
		if j.openTransactions(t) > 0 {
			harness.For(t, 500*time.Millisecond)
			if j.openTransactions(t) > 0 {
				return true, ""
			}
		}
		p.Thaw()
		return false, "none"
	})
}

// A process that was frozen for longer than its transaction timeout, with nobody else there, recovers by itself: a timeout
// is not another process.
func TestProcessFrozenBeyondItsTransactionTimeoutRecoversByItself(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.checkpoint = shortTransactions
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 500)
	p := j.start(t)
	j.waitForMore(t, 200)
	attempts := j.attempts(t)

	j.freezeInTransaction(t, p)
	// The broker looks for expired transactions every 10 s.
	harness.Until(t, time.Minute, "the broker aborts the transaction", func() (bool, string) {
		return j.openTransactions(t) == 0, "it is open"
	})
	p.Thaw()
	j.waitForMore(t, 500)
	if !p.Running() {
		t.Fatalf("the process ended:\n%s", p.Output())
	}
	if n := j.attempts(t); n < attempts+1 {
		t.Errorf("%d attempts after the transaction was aborted, %d before", n, attempts)
	}
	if said := linesWith(p.Output(), "level=WARN"); !strings.Contains(said, "timed") && !strings.Contains(said, "expired") &&
		!strings.Contains(said, "not acknowledged: context deadline exceeded") { // frozen in the middle of a request: its own deadline was first
		t.Errorf("the log does not say why it recovered:\n%s", p.Output())
	}
	j.finish(t, feed, p)
}

// A process that was frozen for longer than every timeout, while one process after the other took over, writes nothing
// that anyone sees, and says why it ends.
func TestProcessFrozenBeyondEveryTimeoutIsAHarmlessZombie(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.checkpoint = shortTransactions
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 500)
	zombie := j.start(t)
	j.waitForMore(t, 200)
	j.freezeInTransaction(t, zombie)
	frozen := time.Now()

	var current *harness.Process
	for range 3 {
		if current != nil {
			current.Kill()
		}
		current = j.start(t)
		j.waitForMore(t, 200)
	}
	harness.For(t, time.Until(frozen.Add(6*time.Second))) // longer than its transaction timeout
	zombie.Thaw()
	if code := zombie.Exit(time.Minute); code != cli.ExitTakenOver {
		t.Errorf("the zombie ended with exit code %d, want %d:\n%s", code, cli.ExitTakenOver, zombie.Output())
	}
	oneLine(t, zombie, "another process", "runs this job now")
	if !current.Running() {
		t.Fatalf("the zombie took the other process with it:\n%s", current.Output())
	}
	j.finish(t, feed, current)
}

// Of processes that are started at once one runs the job, whichever; the others end and say so. No start of them is lost
// work, and none of them leaves a hole in the checkpoints' numbers.
func TestOfProcessesStartedAtOnceOneRuns(t *testing.T) {
	j := newSums(t, shared(t))
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 500)
	var winner *harness.Process
	for round := range 4 {
		var all []*harness.Process
		if winner != nil {
			all = append(all, winner) // it is taken over too
		}
		for range 2 + round%2 {
			all = append(all, j.program(t).Start(t))
		}
		harness.Until(t, 2*time.Minute, "one process is left", func() (bool, string) {
			running := 0
			for _, p := range all {
				if p.Running() {
					running++
					winner = p
				}
			}
			if running == 0 {
				t.Fatal("none of them runs the job")
			}
			return running == 1, fmt.Sprint(running, " run")
		})
		for _, p := range all {
			if p == winner {
				continue
			}
			if code := p.Exit(0); code != cli.ExitTakenOver {
				t.Errorf("round %d: exit code %d, want %d:\n%s", round, code, cli.ExitTakenOver, p.Output())
			}
		}
		j.waitForMore(t, 200)
	}
	j.finish(t, feed, winner)
}

// Ten processes in one second, each ended by SIGKILL before the next begins, wherever in its recovery it is.
func TestTenRestartsWithinASecond(t *testing.T) {
	j := newSums(t, shared(t))
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 100}, 500)
	p := j.start(t)
	j.waitForMore(t, 200)
	for range 10 {
		p.Kill()
		p = j.program(t).Start(t)
		harness.For(t, time.Duration(rng.Int64N(int64(100*time.Millisecond))))
	}
	j.waitReady(t, p)
	j.waitForMore(t, 200)
	j.finish(t, feed, p)
}

// Rule 5: while a transaction of somebody else is open on the checkpoint partition, nobody knows the last pointer. A start
// waits; if the transaction ends in time it goes on, else it stops and names it.
func TestOpenTransactionOnTheCheckpointsIsWaitedForAndThenNamed(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 200)
	p := j.start(t)
	j.waitForOutput(t, 200, time.Minute)
	j.stop(t, p)
	last := len(j.cluster.Pointers(t, j.checkpointTopic()))

	who := j.name + ".somebody"
	other := openTransaction(t, j.cluster, who, &kgo.Record{Topic: j.checkpointTopic(), Key: []byte("not"), Value: []byte("a pointer")})
	j.cluster.ProduceNumbers(t, j.in, numbers, 200, 400)
	endedBy(t, j.program(t).Start(t), cli.ExitOther, j.checkpointTopic(), "an open transaction of "+who, "keeps the last stable offset at")
	if n := len(j.cluster.Pointers(t, j.checkpointTopic())); n != last {
		t.Errorf("%d pointers, %d before: it went on from a pointer below an open transaction", n, last)
	}

	p = j.program(t).Start(t)
	harness.For(t, time.Second)
	if status, _ := harness.Get(j.address, "/readyz"); status == 200 || !p.Running() {
		t.Errorf("readiness %d while the last pointer is not known:\n%s", status, p.Output())
	}
	other.end(kgo.TryAbort)
	j.waitReady(t, p)
	j.waitForOutput(t, 400, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, 400)
}

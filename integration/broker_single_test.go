//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/internal/fault"
)

// One node: when it is away, nothing answers.
func TestTheOnlyNodeMayFail(t *testing.T) {
	t.Parallel()
	cluster := harness.NewCluster(t, broker.Options{Properties: shortBroker, Light: true})
	warm(t, cluster)
	t.Run("it is killed", func(t *testing.T) { onlyNodeIsKilled(t, cluster) })
	t.Run("it stands still", func(t *testing.T) { onlyNodeFreezes(t, cluster) })
	t.Run("its clock is ahead by minutes", func(t *testing.T) { clockIsAhead(t, cluster) })
	t.Run("the job is killed before the commit, and its transaction times out", func(t *testing.T) { transactionTimesOut(t, cluster) })
	t.Run("its record of offsets is lost", func(t *testing.T) { offsetsAreLost(t, cluster) })
	t.Run("its record of transactions is lost", func(t *testing.T) { transactionsAreLost(t, cluster) })
}

func onlyNodeIsKilled(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	rng := harness.Rand(t)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	for range 3 {
		j.waitForMore(t, 500)
		harness.For(t, time.Duration(rng.Int64N(int64(100*time.Millisecond))))
		cluster.Node.Kill()
		restart(t, cluster, cluster.Node)
	}
	j.waitForMore(t, 500)
	j.finish(t, feed, p)
}

func onlyNodeFreezes(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	j.waitForMore(t, 500)
	cluster.Node.Pause()
	harness.For(t, longerThanAll)
	cluster.Node.Resume()
	j.waitForMore(t, 500)
	j.finish(t, feed, p)
}

// The broker's clock is put forward and back again while the job runs: what is timed in it are transactions, retention and
// the IDs of producers.
func clockIsAhead(t *testing.T, cluster *harness.Cluster) {
	ahead, err := broker.Clock(5 * time.Minute)
	if err != nil {
		t.Skip(err)
	}
	j := newFaultySums(t, cluster)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	for _, env := range [][]string{ahead, nil} {
		j.waitForMore(t, 500)
		cluster.Node.Stop()
		cluster.Node.SetEnv(env)
		restart(t, cluster, cluster.Node)
		j.waitForMore(t, 500)
	}
	j.finish(t, feed, p)
}

// C01: the state is uploaded and the output acknowledged, but nothing is committed when the transaction times out.
func transactionTimesOut(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	j.checkpoint = append([]string{"inline_threshold: 1"}, shortCheckpoints...)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 1000)
	for _, step := range []fault.Step{fault.Uploaded, fault.PointerWritten, fault.OffsetsWritten} {
		j.killedAt(t, step, 10, nil, shortRequests...)
		j.waitForAbort(t)
	}
	j.finish(t, feed, j.start(t, shortRequests...))
}

// waitForAbort waits until the broker has aborted what a killed process has left open.
func (j *sumsJob) waitForAbort(t *testing.T) {
	t.Helper()
	harness.Until(t, time.Minute, "the transactions of "+j.name+" time out", func() (bool, string) {
		aborted := false
		for _, tx := range j.cluster.Transactions(t, j.transactionPrefix()) {
			switch tx.State {
			case "CompleteAbort":
				aborted = true
			case "Empty", "CompleteCommit", "Dead":
			default:
				return false, tx.TxnID + " is " + tx.State
			}
		}
		return aborted, "none is aborted"
	})
}

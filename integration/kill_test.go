//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

func TestKilledFiftyTimesLosesAndDoublesNothing(t *testing.T) {
	killAgainAndAgain(t, shared(t), 50)
}

// killAgainAndAgain feeds a keyed running sum over 4 partitions while the job is killed at random moments, and checks all
// invariants at the end.
func killAgainAndAgain(t *testing.T, cluster *harness.Cluster, kills int) {
	j := newSums(t, cluster)
	rng := harness.Rand(t)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 200}, 4000)

	program := j.program(t)
	killer := harness.Killer{Rand: rng, Kills: kills, Least: 20 * time.Millisecond, Most: 2 * time.Second, Ready: j.ready}
	last := killer.Run(t, program)
	sent := feed.Stop()

	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, last)
	j.checkInvariants(t, sent)

	// The kills meant something only if most of them hit a job that had begun its work.
	if attempts := j.attempts(t); attempts < kills/2 {
		t.Errorf("only %d of %d starts committed a checkpoint before their kill: the kills come too early", attempts, kills)
	} else {
		t.Logf("%d records, %d kills, %d attempts that committed", sent, kills, attempts)
	}
}

//go:build integration

package integration

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// A job in Go that calls Run itself, without the command line of the YAML jobs.
func TestKilledGoJobLosesAndDoublesNothing(t *testing.T) {
	path, err := harness.Build("github.com/weirstream/weir/integration/testjobs/sums")
	if err != nil {
		t.Fatal(err)
	}
	j := newSums(t, shared(t))
	program := harness.Program{Path: path, Dir: j.dir, Args: []string{
		"-job", j.name, "-brokers", j.brokers[0], "-in", j.in, "-out", j.out, "-parallelism", strconv.Itoa(j.parallelism),
		"-interval", j.interval.String(), "-storage", filepath.Join(j.dir, "state"),
	}}
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 200}, 4000)
	killer := harness.Killer{Rand: rng, Kills: 10, Least: 200 * time.Millisecond, Most: time.Second}
	last := killer.Run(t, program)
	sent := feed.Stop()
	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, last)
	j.checkInvariants(t, sent) // checkState would start the YAML job, whose steps have other names
}

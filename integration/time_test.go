//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// The clock of the process is set by an hour, forward and back, while it runs and between its lives. Nothing that holds
// depends on it, and checkpoints are dated by it.
func TestProcessWhoseClockIsSetStaysExact(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	file := filepath.Join(j.dir, "clock")
	set := func(wrong string) {
		if err := os.WriteFile(file+".new", []byte(wrong), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 100}, 1000)
	start := func() *harness.Process {
		p := j.goProgram(t, "slow", "WEIR_CLOCK="+file).Start(t)
		j.waitReady(t, p)
		return p
	}
	p := start()
	for i, wrong := range []string{"1h", "-1h", "0s", "-1h", "1h"} {
		set(wrong)
		j.waitForMore(t, 500)
		if i%2 == 1 {
			p.Kill()
			p = start()
			j.waitForMore(t, 500)
		}
	}
	if !p.Running() {
		t.Fatalf("the process ended:\n%s", p.Output())
	}
	sent := feed.Stop()
	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, sent)

	// Three lives, three attempts: no step of the clock ended one.
	if n := j.attempts(t); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
	pointers := j.cluster.Pointers(t, j.checkpointTopic())
	ahead := time.UnixMilli(pointers[len(pointers)-1].Time).Sub(time.Now())
	if ahead < 50*time.Minute || ahead > time.Hour {
		t.Errorf("the last checkpoint is dated %s ahead, want an hour", ahead)
	}
}

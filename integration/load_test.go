//go:build integration

package integration

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// residentBound is what a process may have in memory besides its budget for state (checkpoint.memory): fetched batches,
// events between subtasks, what waits for the brokers, and the Go runtime's own overhead.
const residentBound = 192 << 20

// resident is the memory of a process, in bytes.
func resident(t *testing.T, p *harness.Process) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	kb, err := strconv.ParseInt(strings.Fields(linesWith(string(text), "VmRSS:") + " 0 0")[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// loadFor is how long TestTenTimesTheLoadIsTakenInItsTime feeds: $WEIR_LOAD, or a minute.
func loadFor(t *testing.T) time.Duration {
	text := os.Getenv("WEIR_LOAD")
	if text == "" {
		return time.Minute
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("WEIR_LOAD: %v", err)
	}
	return d
}

// C11, C34: an input that is ten times what the job can do makes it late, and nothing else: its memory stays bounded, each
// checkpoint completes, and it catches up.
func TestTenTimesTheLoadIsTakenInItsTime(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	// Two subtasks that need 20 ms for a record do 100 a second: with a fixed number of records on their way, a barrier would
	// wait for minutes.
	const memory = 64 << 20
	start := func(burn string) *harness.Process {
		program := j.goProgram(t, "slow", "WEIR_BURN="+burn)
		program.Args = append(program.Args, "--set", "checkpoint.memory=64MiB")
		p := program.Start(t)
		j.waitReady(t, p)
		return p
	}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 1000}, 1000)
	p := start("20ms")
	var most int64
	completed, at := j.cluster.End(t, j.checkpointTopic()), time.Now()
	var slowest time.Duration
	for end := time.Now().Add(loadFor(t)); time.Now().Before(end); {
		harness.For(t, 500*time.Millisecond)
		if !p.Running() {
			t.Fatalf("the process ended:\n%s", p.Output())
		}
		most = max(most, resident(t, p))
		if now := j.cluster.End(t, j.checkpointTopic()); now != completed {
			slowest = max(slowest, time.Since(at))
			completed, at = now, time.Now()
		} else if time.Since(at) > 30*time.Second {
			t.Fatalf("no checkpoint completed within 30 s:\n%s", p.Output())
		}
	}
	sent := feed.Stop()
	_, page := harness.Get(j.address, "/metrics")
	read, _ := harness.Metric(page, "weir_split_offset")
	lag := float64(sent) - read
	t.Logf("%d records sent, %v of them not read yet, at most %d MiB resident, at most %s between checkpoints", sent, lag, most>>20, slowest)
	if lag < float64(sent)/2 {
		t.Errorf("the job was not overloaded: %d records sent, lag %v", sent, lag)
	}
	if most > memory+residentBound {
		t.Errorf("%d MiB resident, want at most %d", most>>20, (memory+residentBound)>>20)
	}
	if n := j.attempts(t); n != 1 {
		t.Errorf("%d attempts under load, want 1:\n%s", n, p.Output())
	}
	j.stop(t, p) // also with all that is waiting, within a checkpoint's time

	p = start("0s")
	j.waitForOutput(t, sent, 2*time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, sent)
}

// C34, C35: behind a sink that has a hundredth of its speed, checkpoints still complete in their time: no more waits for the
// brokers than they can take in it. C11: nothing is doubled by it.
func TestCheckpointsCompleteBehindASinkOfAHundredthOfItsSpeed(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	rng := harness.Rand(t)
	// Values that do not compress: 8 MB, which at 100 kB/s would be waiting for 80 s.
	var records []*kgo.Record
	for i := range 4000 {
		records = append(records, &kgo.Record{Topic: j.in, Key: fmt.Append(nil, i%100), Value: noise(rng, 2000)})
	}
	j.cluster.Produce(t, records...)
	line, err := proxy.Start(proxy.Options{Brokers: j.cluster.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(line.Close)
	slow := line.Bandwidth(proxy.Link{Keys: []kmsg.Key{kmsg.Produce}}, 100_000)
	j.brokers = []string{line.Addr()}
	program := j.goProgram(t, "raw")
	program.Args = append(program.Args, "--set", "checkpoint.timeout=10s")
	p := program.Start(t)
	j.waitReady(t, p)
	// Several checkpoints, each with as much as the line takes.
	for n := int64(1); n <= 4; n++ {
		harness.Until(t, 30*time.Second, "a checkpoint with records", func() (bool, string) {
			if !p.Running() {
				t.Fatalf("the process ended:\n%s", p.Output())
			}
			return int64(harness.Count(j.cluster.Read(t, j.out))) >= n*100, "no more results"
		})
	}
	if n := j.attempts(t); n != 1 {
		t.Errorf("%d attempts, want 1: a checkpoint failed:\n%s", n, p.Output())
	}
	if n := harness.Count(j.cluster.Read(t, j.out)); n > len(records)/2 {
		t.Errorf("%d results already: the sink was not slow", n)
	}
	slow.Heal()
	j.waitForOutput(t, int64(len(records)), time.Minute)
	j.stop(t, p)
	j.checkCopies(t)
	j.cluster.NoOpenTransactions(t, j.transactionPrefix())
}

// C36: how much is on its way does not depend on the interval between checkpoints: with one that never comes by itself, a
// job that is slower than its input still reads no more than it can take.
func TestFlowControlDoesNotWaitForACheckpoint(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	const sent = 20_000
	j.cluster.ProduceNumbers(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 0, sent)
	start := func(burn string, more ...string) *harness.Process {
		program := j.goProgram(t, "slow", "WEIR_BURN="+burn)
		program.Args = append(program.Args, more...)
		p := program.Start(t)
		j.waitReady(t, p)
		return p
	}
	p := start("2ms", "--set", "checkpoint.interval=5m", "--set", "checkpoint.transaction_timeout=10m")
	harness.Until(t, time.Minute, "some records are processed", func() (bool, string) {
		_, page := harness.Get(j.address, "/metrics")
		n, _ := harness.Metric(page, "weir_records_out_total")
		return n >= 500, fmt.Sprint(n, " results")
	})
	_, page := harness.Get(j.address, "/metrics")
	if read, _ := harness.Metric(page, "weir_split_offset"); read > sent/2 {
		t.Errorf("%v of %d records are on their way in a job that does 1000 a second", read, sent)
	}
	if n := harness.Count(j.cluster.Read(t, j.out)); n != 0 {
		t.Errorf("%d results before the first checkpoint", n)
	}
	j.stop(t, p)
	p = start("0s")
	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, sent)
}

//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// proxied is a job behind a proxy of its own, with an input that goes on.
type proxied struct {
	*sumsJob
	proxy *proxy.Proxy
	feed  *harness.Feed
	// run is the process that runs now.
	run *harness.Process
}

// quick are timeouts with which faults that are waited for do not take long. They allow for a machine that has much else to
// do: a checkpoint takes milliseconds.
var quick = []string{
	"timeout: 8s",
	"transaction_timeout: 20s",
	"tolerable_failures: 1000",
	"restart: {max_backoff: 500ms}",
	// Options of the producer, not of the checkpoints.
	"\nproducer:\n  request_timeout: 6s",
}

// newProxied makes a job behind a proxy and its input; it is not started yet.
func newProxied(t *testing.T, cluster *harness.Cluster, perSecond int) *proxied {
	t.Helper()
	p, err := proxy.Start(proxy.Options{Brokers: cluster.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	j := newSums(t, cluster)
	j.brokers = []string{p.Addr()}
	j.checkpoint = quick
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}, perSecond)
	return &proxied{sumsJob: j, proxy: p, feed: feed}
}

// begin starts the job and waits until it has committed a few checkpoints.
func (j *proxied) begin(t *testing.T) {
	t.Helper()
	j.run = j.start(t)
	j.goOn(t, 30*time.Second)
}

// goOn waits until the job has committed three more checkpoints than now.
func (j *proxied) goOn(t *testing.T, within time.Duration) {
	t.Helper()
	j.waitForCheckpoint(t, j.checkpointID(t)+3, within)
}

// checkpointID is the last checkpoint that the job knows to be committed.
func (j *proxied) checkpointID(t *testing.T) int64 {
	t.Helper()
	return int64(j.metric(t, "weir_checkpoint_id"))
}

// waitForCheckpoint waits until the running process has committed a checkpoint with this ID or a later one.
func (j *proxied) waitForCheckpoint(t *testing.T, id int64, within time.Duration) {
	t.Helper()
	last := int64(-1)
	next := time.Now()
	harness.Until(t, within, fmt.Sprintf("checkpoint %d of %s", id, j.name), func() (bool, string) {
		if !j.run.Running() {
			t.Fatalf("%s ended with exit code %d:\n%s", j.name, j.run.Exit(0), j.run.Output())
		}
		// The page of metrics costs more than looking at a clock.
		if now := time.Now(); now.After(next) {
			last, next = j.checkpointID(t), now.Add(100*time.Millisecond)
		}
		return last >= id, fmt.Sprintf("at %d; its last errors:\n%s", last, lastLines(linesWith(j.run.Output(), "error="), 5))
	})
}

// metric is a number of the running process.
func (j *proxied) metric(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	harness.Until(t, 20*time.Second, "metrics of "+j.name, func() (bool, string) {
		if !j.run.Running() {
			t.Fatalf("%s ended with exit code %d:\n%s", j.name, j.run.Exit(0), j.run.Output())
		}
		status, page := harness.Get(j.address, "/metrics")
		samples := 0
		sum, samples = harness.Metric(page, name, labels...)
		return status == 200 && samples > 0, page
	})
	return sum
}

// end finishes the input and the job and checks the invariants.
func (j *proxied) end(t *testing.T) {
	t.Helper()
	j.finish(t, j.feed, j.run)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// links are the connections of a job. The records of the output and the pointers share one; a recovery reads pointers by
// Fetch.
var links = []struct {
	name string
	link proxy.Link
}{
	{"coordinators", proxy.Link{Keys: []kmsg.Key{kmsg.EndTxn, kmsg.TxnOffsetCommit, kmsg.InitProducerID}}},
	{"output and pointers", proxy.Link{Keys: []kmsg.Key{kmsg.Produce}}},
	{"input and recovery", proxy.Link{Keys: []kmsg.Key{kmsg.Fetch}}},
	{"all", proxy.Link{}},
}

// troubles are what is wrong with a link for a while.
var troubles = []struct {
	name  string
	begin func(p *proxy.Proxy, l proxy.Link) *proxy.Fault
	// lasts is how long; for 0 the fault is not healed before the job has gone on by itself.
	lasts time.Duration
	// within is how long the job may take after that to commit again.
	within time.Duration
}{
	{"cut", (*proxy.Proxy).Cut, 2 * time.Second, 20 * time.Second},
	{"half-open", (*proxy.Proxy).HalfOpen, 3 * time.Second, 20 * time.Second},
	{"half-open for good, but for new connections", halfOpenForGood, 0, 40 * time.Second},
	{"2 s of latency", twoSeconds, 6 * time.Second, 20 * time.Second},
	{"10 kB a second", tenKilobytes, 5 * time.Second, 20 * time.Second},
}

// halfOpenForGood is what a firewall does that has forgotten its connections.
func halfOpenForGood(p *proxy.Proxy, l proxy.Link) *proxy.Fault {
	l.Existing = true
	return p.HalfOpen(l)
}

func twoSeconds(p *proxy.Proxy, l proxy.Link) *proxy.Fault { return p.Latency(l, 2*time.Second) }

func tenKilobytes(p *proxy.Proxy, l proxy.Link) *proxy.Fault { return p.Bandwidth(l, 10_000) }

// most is what the process may need at any time, in bytes: the job has fifty keys.
const most = 400 << 20

// Whatever is wrong with whichever connection: when it is over, the job goes on within seconds, with little memory, and its
// output is exact.
func TestANetworkMayFailOnAnyConnection(t *testing.T) {
	t.Parallel()
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			j := newProxied(t, shared(t), 400)
			j.begin(t)
			for _, at := range links {
				t.Run(at.name, func(t *testing.T) {
					fault := trouble.begin(j.proxy, at.link)
					defer fault.Heal()
					harness.Until(t, 20*time.Second, "a connection that the fault is on", func() (bool, string) {
						return fault.Touched() > 0, ""
					})
					if trouble.lasts > 0 {
						harness.For(t, trouble.lasts)
						fault.Heal()
					}
					healed := time.Now()
					j.goOn(t, trouble.within)
					t.Logf("three checkpoints after %s, %v restarts so far", time.Since(healed).Round(time.Millisecond), j.metric(t, "weir_restarts_total"))
					if used := j.metric(t, "process_resident_memory_bytes"); used > most {
						t.Errorf("%.0f bytes of memory", used)
					}
				})
				if t.Failed() {
					break
				}
			}
			j.end(t)
		})
	}
}

// A cluster at the other end of the world is slow, and nothing else: with the default timeouts no attempt ends.
func TestAJobWorksWithTwoSecondsOfLatency(t *testing.T) {
	t.Parallel()
	j := newProxied(t, shared(t), 100)
	j.checkpoint = nil // the defaults
	j.begin(t)
	restarts := j.metric(t, "weir_restarts_total")
	fault := j.proxy.Latency(proxy.Link{}, 2*time.Second)
	j.waitForCheckpoint(t, j.checkpointID(t)+3, time.Minute)
	if n := j.metric(t, "weir_restarts_total") - restarts; n != 0 {
		t.Errorf("%v restarts:\n%s", n, j.run.Output())
	}
	fault.Heal()
	j.goOn(t, 20*time.Second)
	j.end(t)
}

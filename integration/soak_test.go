//go:build integration && soak

package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// soak is a job that runs for a long time on three brokers, behind a proxy, while one fault after the other is made.
type soak struct {
	t       *testing.T
	j       *sumsJob
	cluster *harness.Cluster
	proxy   *proxy.Proxy
	store   string // a small disk of its own, "" if there is none
	ctx     context.Context

	mu      sync.Mutex
	rng     *rand.Rand
	current *harness.Process
	next    *harness.Process // has taken over, or is about to
	env     []string         // of the next start only
	counts  map[string]int   // faults made
	exits   map[string]int   // how processes ended
	starts  int
	// brokers is held while a broker is hurt, and while everything is compared.
	brokers sync.Mutex
}

// TestSoak makes a random fault every five seconds for $WEIR_SOAK (an hour by default) and checks every invariant at the
// end, and every five minutes that what a reader sees so far is right. It prints a report in Markdown.
func TestSoak(t *testing.T) {
	length := time.Hour
	if v := os.Getenv("WEIR_SOAK"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	s := newSoak(t)
	feed := s.cluster.StartFeed(t, s.j.in, harness.Numbers{Seed: s.rng.Uint64(), Keys: 300}, 300)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	s.ctx = ctx

	var all sync.WaitGroup
	watch := newSoakWatch(s)
	all.Go(s.supervise)
	all.Go(func() { watch.run(ctx) })
	s.waitRunning(30 * time.Second)
	began := time.Now()
	fault := time.NewTicker(5 * time.Second)
	defer fault.Stop()
	check := time.NewTicker(5 * time.Minute)
	defer check.Stop()
	for ctx.Err() == nil && !t.Failed() {
		select {
		case <-fault.C:
			all.Go(s.hurt)
		case <-check.C:
			s.comparePrefix()
			t.Logf("%s: %d records, %d starts, %d faults, longest stall %s", time.Since(began).Round(time.Second), feed.Sent(), s.starts, s.faults(), watch.longest.Round(time.Millisecond))
		case <-ctx.Done():
		}
		if stall := watch.stall(); stall > 3*time.Minute {
			t.Fatalf("nothing has been committed for %s\n%s", stall, s.outputs())
		}
	}
	cancel()
	all.Wait()
	if t.Failed() {
		return
	}
	s.calm()
	took := time.Since(began)
	sent := feed.Stop()
	s.endProcesses()
	last := s.j.start(t)
	s.j.waitForOutput(t, sent, 3*time.Minute)
	s.j.stop(t, last)
	s.j.checkInvariants(t, sent)
	s.j.checkState(t, sent)
	if !t.Failed() {
		fmt.Println(s.report(took, sent, watch))
	}
}

func newSoak(t *testing.T) *soak {
	cluster := harness.NewNodes(t, broker.Options{Heap: "400m"}, 3)
	p, err := proxy.Start(proxy.Options{Brokers: cluster.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	j := newSums(t, cluster)
	j.brokers = []string{p.Addr()}
	j.interval = 100 * time.Millisecond
	j.checkpoint = []string{
		"timeout: 10s", "transaction_timeout: 30s", "retained: 3", "inline_threshold: 2KiB", "base_after: 16KiB",
	}
	s := &soak{t: t, j: j, cluster: cluster, proxy: p, rng: harness.Rand(t), counts: map[string]int{}, exits: map[string]int{}, ctx: t.Context()}
	if os.Geteuid() == 0 {
		s.store = filepath.Join(j.dir, "state")
		mountSmallDisk(t, s.store)
	}
	faulty(t) // builds it now
	return s
}

// supervise keeps a process running, as a container's restart policy does, until the soak ends.
func (s *soak) supervise() {
	for s.ctx.Err() == nil {
		p := s.takeOrStart()
		for p.Running() {
			if !harness.Pass(s.ctx, 20*time.Millisecond) {
				return
			}
		}
		s.mu.Lock()
		s.exits[exitName(p.Exit(time.Second))]++
		s.mu.Unlock()
	}
}

func exitName(code int) string {
	if code < 0 {
		return "killed"
	}
	return fmt.Sprint("exit code ", code)
}

// takeOrStart makes the process that has taken over, if there is one, or else a new one, the current one.
func (s *soak) takeOrStart() *harness.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.next; p != nil {
		s.next = nil
		if p.Running() {
			s.current = p
			return p
		}
		s.exits[exitName(p.Exit(time.Second))]++
	}
	s.current = s.startLocked()
	return s.current
}

func (s *soak) startLocked() *harness.Process {
	s.j.parallelism = 1 + s.rng.IntN(4)
	program := s.j.program(s.t)
	if s.env != nil {
		program.Path, program.Env = faulty(s.t), s.env
		s.env = nil
	}
	s.starts++
	return program.Start(s.t)
}

// process returns the one that runs.
func (s *soak) process() *harness.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

func (s *soak) random(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

// between is a random time.
func (s *soak) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.random(int((most-least)/time.Millisecond)))*time.Millisecond
}

// hurt makes one random fault and returns when it is over.
func (s *soak) hurt() {
	f := soakFaults[s.random(len(soakFaults))]
	if f.broker {
		if !s.brokers.TryLock() {
			return // one broker at a time: two of three have to be in sync
		}
		defer s.brokers.Unlock()
	}
	if f.make(s) {
		s.mu.Lock()
		s.counts[f.name]++
		s.mu.Unlock()
	}
}

func (s *soak) faults() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.counts {
		n += c
	}
	return n
}

// waitRunning waits until the current process says that it is ready.
func (s *soak) waitRunning(within time.Duration) {
	s.t.Helper()
	harness.Until(s.t, within, "a process that runs", func() (bool, string) {
		s.mu.Lock()
		address := s.j.address
		s.mu.Unlock()
		status, body := harness.Get(address, "/readyz")
		return status == 200, body
	})
}

// comparePrefix checks that what a read_committed reader sees by now is the beginning of what the loop computes.
func (s *soak) comparePrefix() {
	s.t.Helper()
	s.brokers.Lock()
	defer s.brokers.Unlock()
	got := s.j.results(s.t)
	want, err := harness.RunningSums(s.cluster.Read(s.t, s.j.in))
	if err != nil {
		s.t.Fatal(err)
	}
	for key, sums := range got {
		if n := len(sums); n > len(want[key]) || !slices.Equal(sums, want[key][:n]) {
			s.t.Errorf("key %s: %d results, which are not the beginning of the %d that the loop computes", key, n, len(want[key]))
		}
	}
}

// calm ends every fault.
func (s *soak) calm() {
	s.t.Helper()
	s.proxy.RemoveRules()
	s.proxy.Heal()
	if err := s.cluster.WaitInSync(harness.Context(s.t, 2*time.Minute)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *soak) endProcesses() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range []*harness.Process{s.current, s.next} {
		if p != nil {
			p.Kill()
		}
	}
}

func (s *soak) outputs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.current.Output()
	return out[max(0, len(out)-4000):]
}

// report is a page of numbers.
func (s *soak) report(took time.Duration, sent int64, w *soakWatch) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	pointers := s.j.cluster.Pointers(s.t, s.j.checkpointTopic())
	out := fmt.Sprintf("\n| | |\n|---|---|\n| length | %s |\n| records, each with its one result in order | %d |\n| lost, doubled, out of order | 0, 0, 0 |\n",
		took.Round(time.Second), sent)
	out += fmt.Sprintf("| starts of a process | %d |\n| checkpoints committed | %d |\n", s.starts, pointers[len(pointers)-1].Checkpoint)
	out += fmt.Sprintf("| longest time without a commit | %s |\n| share of the time with a commit within the last second | %.1f %% |\n", w.longest.Round(time.Millisecond), 100*w.live())
	out += fmt.Sprintf("| largest memory of a process (RSS) | %d MB |\n| faults made | %d |\n", w.rss>>20, sum(s.counts))
	out += "\n| fault | times |\n|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		out += fmt.Sprintf("| %s | %d |\n", name, s.counts[name])
	}
	out += "\n| how processes ended | times |\n|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(s.exits)) {
		out += fmt.Sprintf("| %s | %d |\n", name, s.exits[name])
	}
	return out
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

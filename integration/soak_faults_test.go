//go:build integration && soak

package integration

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
	"github.com/weirstream/weir/internal/fault"
)

// soakFault is one thing that can go wrong. make returns when it is over, and false if it could not be done now.
type soakFault struct {
	name   string
	broker bool
	make   func(*soak) bool
}

var soakFaults = append(append(processFaults, storeFaults...), append(append(brokerFaults, linkFaults...), requestFaults()...)...)

var processFaults = []soakFault{
	{name: "process: SIGKILL", make: func(s *soak) bool { s.process().Kill(); return true }},
	{name: "process: SIGKILL at a step of the engine", make: func(s *soak) bool {
		steps := fault.Steps()
		s.mu.Lock()
		s.env = []string{fmt.Sprintf("WEIR_FAULT=%s:%d", steps[s.rng.IntN(len(steps))], 1+s.rng.IntN(10))}
		s.mu.Unlock()
		s.process().Kill()
		return true
	}},
	{name: "process: ten SIGKILLs within two seconds", make: func(s *soak) bool {
		for range 10 {
			s.process().Kill()
			if !harness.Pass(s.ctx, s.between(20*time.Millisecond, 200*time.Millisecond)) {
				return false
			}
		}
		return true
	}},
	{name: "process: SIGTERM and a start with another parallelism", make: func(s *soak) bool { s.process().Terminate(); return true }},
	{name: "process: SIGSTOP for up to 15 s", make: func(s *soak) bool {
		p := s.process()
		p.Freeze()
		defer p.Thaw()
		harness.Pass(s.ctx, s.between(time.Second, 15*time.Second))
		return true
	}},
	{name: "process: SIGSTOP for longer than the transaction timeout", make: func(s *soak) bool {
		p := s.process()
		p.Freeze()
		defer p.Thaw()
		harness.Pass(s.ctx, 35*time.Second)
		return true
	}},
	{name: "process: a second one takes over", make: func(s *soak) bool { return s.second() != nil }},
	{name: "process: SIGSTOP, a second one takes over, SIGCONT", make: func(s *soak) bool {
		p := s.process()
		p.Freeze()
		defer p.Thaw()
		if s.second() == nil {
			return false
		}
		harness.Pass(s.ctx, s.between(time.Second, 10*time.Second))
		return true
	}},
	{name: "process: a savepoint", make: func(s *soak) bool {
		s.mu.Lock()
		n, address := s.starts, s.j.address
		s.mu.Unlock()
		dir := filepath.Join(s.j.dir, fmt.Sprintf("savepoint-%d-%d", n, s.random(1<<30)))
		defer os.RemoveAll(dir)
		p := harness.Program{
			Path: processor, Args: []string{"savepoint", "create", filepath.Join(s.j.dir, "sums.yaml"), "--address", address, "--dir", dir},
		}.Start(s.t)
		for p.Running() && harness.Pass(s.ctx, 50*time.Millisecond) {
		}
		return true
	}},
}

// second starts another process, which takes the job over.
func (s *soak) second() *harness.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil && s.next.Running() || s.ctx.Err() != nil {
		return nil
	}
	s.next = s.startLocked()
	return s.next
}

var storeFaults = []soakFault{
	{name: "storage: the disk is full for up to 6 s", make: func(s *soak) bool {
		if s.store == "" {
			return false
		}
		filler := filepath.Join(s.store, "filler")
		_ = os.WriteFile(filler, make([]byte, 64<<20), 0o644) // it does not fit, which is the purpose
		harness.Pass(s.ctx, s.between(500*time.Millisecond, 6*time.Second))
		_ = os.Remove(filler)
		return true
	}},
	{name: "local copies: gone at a start", make: func(s *soak) bool {
		s.process().Kill()
		_ = os.RemoveAll(filepath.Join(s.j.dir, "local")) // a new process may be writing there already: then it fails, and starts again
		return true
	}},
	{name: "local copies: a byte of each is flipped at a start", make: func(s *soak) bool {
		s.process().Kill()
		_ = filepath.WalkDir(filepath.Join(s.j.dir, "local"), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && filepath.Base(filepath.Dir(path)) == "cache" {
				flip(path)
			}
			return nil
		})
		return true
	}},
}

// flip changes a byte in the middle of a file.
func flip(path string) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return
	}
	data[len(data)/2] ^= 1
	_ = os.WriteFile(path, data, 0o644)
}

var brokerFaults = []soakFault{
	{name: "broker: SIGKILL and restart", broker: true, make: func(s *soak) bool {
		return s.away(func(b *broker.Broker) { b.Kill() })
	}},
	{name: "broker: stopped and started", broker: true, make: func(s *soak) bool {
		return s.away(func(b *broker.Broker) { b.Stop() })
	}},
	{name: "broker: SIGSTOP for up to 15 s", broker: true, make: func(s *soak) bool {
		b := s.cluster.Nodes[s.random(len(s.cluster.Nodes))]
		b.Pause()
		harness.Pass(s.ctx, s.between(time.Second, 15*time.Second))
		b.Resume()
		return s.inSync()
	}},
	{name: "broker: rolling restart of all three", broker: true, make: func(s *soak) bool {
		for _, b := range s.cluster.Nodes {
			b.Stop()
			if !s.back(b) {
				return false
			}
		}
		return true
	}},
	{name: "broker: somebody else's transaction open in the input for up to 5 s", broker: true, make: (*soak).openTransaction},
}

// away takes a random node away and brings it back.
func (s *soak) away(take func(*broker.Broker)) bool {
	b := s.cluster.Nodes[s.random(len(s.cluster.Nodes))]
	take(b)
	harness.Pass(s.ctx, s.between(500*time.Millisecond, 8*time.Second))
	return s.back(b)
}

func (s *soak) back(b *broker.Broker) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := b.Restart(ctx); err != nil {
		s.t.Error(err)
		return false
	}
	return s.inSync()
}

// inSync waits until another broker may go.
func (s *soak) inSync() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := s.cluster.WaitInSync(ctx); err != nil {
		s.t.Error(err)
		return false
	}
	return true
}

// openTransaction writes records that are aborted, in a transaction that stays open for a while.
func (s *soak) openTransaction() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Brokers...), kgo.TransactionalID(harness.Name("stranger")), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		s.t.Error(err)
		return false
	}
	defer cl.Close()
	if cl.BeginTransaction() != nil {
		return false
	}
	for p := range int32(4) {
		cl.Produce(ctx, &kgo.Record{Topic: s.j.in, Partition: p, Key: []byte("stranger"), Value: []byte("not JSON")}, nil)
	}
	if cl.Flush(ctx) != nil {
		return false
	}
	harness.Pass(s.ctx, s.between(100*time.Millisecond, 5*time.Second))
	return cl.EndTransaction(ctx, kgo.TryAbort) == nil
}

var linkFaults = []soakFault{
	{name: "network: cut for up to 10 s", make: link(10*time.Second, func(p *proxy.Proxy) *proxy.Fault { return p.Cut(proxy.Link{}) })},
	{name: "network: connections cut", make: link(10*time.Millisecond, func(p *proxy.Proxy) *proxy.Fault { return p.Cut(proxy.Link{Existing: true}) })},
	{name: "network: half-open for up to 20 s", make: link(20*time.Second, func(p *proxy.Proxy) *proxy.Fault { return p.HalfOpen(proxy.Link{}) })},
	{name: "network: 2 s of latency for up to 20 s", make: link(20*time.Second, func(p *proxy.Proxy) *proxy.Fault { return p.Latency(proxy.Link{}, 2*time.Second) })},
	{name: "network: 10 kB/s for up to 20 s", make: link(20*time.Second, func(p *proxy.Proxy) *proxy.Fault { return p.Bandwidth(proxy.Link{}, 10_000) })},
	{name: "network: the way of the results cut for up to 10 s", make: link(10*time.Second, func(p *proxy.Proxy) *proxy.Fault { return p.Cut(proxy.Link{Keys: []kmsg.Key{kmsg.Produce}}) })},
	{name: "network: the way of the input cut for up to 10 s", make: link(10*time.Second, func(p *proxy.Proxy) *proxy.Fault { return p.Cut(proxy.Link{Keys: []kmsg.Key{kmsg.Fetch}}) })},
	{name: "network: the way to one broker half-open for up to 15 s", make: func(s *soak) bool {
		node := s.cluster.Nodes[s.random(len(s.cluster.Nodes))].ID()
		return link(15*time.Second, func(p *proxy.Proxy) *proxy.Fault { return p.HalfOpen(proxy.Link{Nodes: []int32{node}}) })(s)
	}},
}

// link makes something wrong with the network for a random time.
func link(most time.Duration, begin func(*proxy.Proxy) *proxy.Fault) func(*soak) bool {
	return func(s *soak) bool {
		f := begin(s.proxy)
		defer f.Heal()
		harness.Pass(s.ctx, s.between(0, most))
		return true
	}
}

// requestFaults hit one request of each kind that the protocol is made of, in each way.
func requestFaults() (out []soakFault) {
	for _, r := range []struct {
		name  string
		key   kmsg.Key
		match func(*proxy.Request) bool
		err   *kerr.Error // what a broker answers when it is not ready
	}{
		{"commit", kmsg.EndTxn, proxy.Commits, kerr.CoordinatorLoadInProgress},
		{"InitProducerID", kmsg.InitProducerID, nil, kerr.CoordinatorLoadInProgress},
		{"TxnOffsetCommit", kmsg.TxnOffsetCommit, nil, kerr.CoordinatorLoadInProgress},
		{"Produce", kmsg.Produce, nil, kerr.NotLeaderForPartition},
	} {
		for _, a := range []struct {
			name   string
			action proxy.Action
		}{
			{"answer lost", proxy.DropAnswer()},
			{"request lost", proxy.DropRequest()},
			{"processed twice", proxy.Duplicate()},
			{"delayed by 3 s", proxy.DelayRequest(3 * time.Second)},
			{"delayed by 12 s", proxy.DelayRequest(12 * time.Second)},
			{"refused", proxy.Refuse(r.err)},
		} {
			out = append(out, soakFault{name: "request: " + r.name + ": " + a.name, make: func(s *soak) bool {
				armed := s.proxy.Add(proxy.Rule{Key: r.key, Match: r.match, Action: a.action})
				defer armed.Remove()
				ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
				defer cancel()
				if r.key == kmsg.InitProducerID {
					s.process().Kill() // it is asked at a start
				}
				return armed.Wait(ctx, 1) == nil
			}})
		}
	}
	return out
}

// mountSmallDisk makes a disk of 64 MB at a path.
func mountSmallDisk(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
}

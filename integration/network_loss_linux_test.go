//go:build integration

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// One packet of a hundred is lost, in both directions, between the job in a network namespace of its own and the cluster.
func TestAJobIsExactWhilePacketsAreLost(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	p, err := proxy.Start(proxy.Options{Brokers: shared(t).Brokers, Host: ns.host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	j := newSums(t, shared(t))
	j.brokers = []string{p.Addr()}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}, 2000)
	// Its HTTP address is one inside the namespace: what it does is seen by its output.
	run := ns.run(j.program(t)).Start(t)
	j.waitForOutput(t, 1000, 30*time.Second)

	for _, chain := range []string{"INPUT", "OUTPUT"} {
		ns.do(t, "iptables", "-A", chain, "-m", "statistic", "--mode", "random", "--probability", "0.01", "-j", "DROP")
	}
	for range 3 {
		harness.For(t, 4*time.Second)
		j.waitForMore(t, 100)
	}
	in, out := ns.dropped(t, "INPUT"), ns.dropped(t, "OUTPUT")
	if in == 0 || out == 0 {
		t.Errorf("%d packets to the job and %d from it were lost", in, out)
	}
	j.finish(t, feed, run)
	pointers := j.cluster.Pointers(t, j.checkpointTopic())
	t.Logf("%d packets to the job and %d from it were lost; %d checkpoints", in, out, pointers[len(pointers)-1].Checkpoint)
}

// namespace is a network of its own, which reaches the host by one cable.
type namespace struct {
	name string
	// host and guest are the addresses of the two ends.
	host, guest string
}

// newNamespace makes a network namespace, which is removed after the test. It takes root.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace takes root")
	}
	for _, tool := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: apt-get install iproute2 iptables", tool)
		}
	}
	pid := os.Getpid()
	// A small network out of 10.83.0.0/16, which belongs to nobody else on the machines where tests run.
	at := pid % 16384
	net := fmt.Sprintf("10.83.%d.", at/64)
	ns := &namespace{
		name: fmt.Sprintf("weir-%d", pid), host: fmt.Sprint(net, at%64*4+1), guest: fmt.Sprint(net, at%64*4+2),
	}
	outside, inside := fmt.Sprintf("wo%d", pid), fmt.Sprintf("wi%d", pid)
	if out, err := exec.Command("ip", "netns", "add", ns.name).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %v: %s", err, out)
	}
	t.Cleanup(func() { command(t, "ip", "netns", "del", ns.name) }) // and the cable with it
	command(t, "ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", ns.name)
	command(t, "ip", "addr", "add", ns.host+"/30", "dev", outside)
	command(t, "ip", "link", "set", outside, "up")
	ns.do(t, "ip", "addr", "add", ns.guest+"/30", "dev", inside)
	ns.do(t, "ip", "link", "set", inside, "up")
	ns.do(t, "ip", "link", "set", "lo", "up")
	return ns
}

// do runs a command in the namespace and returns what it prints.
func (ns *namespace) do(t *testing.T, args ...string) string {
	t.Helper()
	return command(t, append([]string{"ip", "netns", "exec", ns.name}, args...)...)
}

// dropped is how many packets the rules of a chain have dropped.
func (ns *namespace) dropped(t *testing.T, chain string) (packets int) {
	t.Helper()
	for _, line := range strings.Split(ns.do(t, "iptables", "-L", chain, "-v", "-n", "-x"), "\n") {
		var n int
		if _, err := fmt.Sscan(line, &n); err == nil && strings.Contains(line, "DROP") {
			packets += n
		}
	}
	return packets
}

// run is a program in the namespace.
func (ns *namespace) run(p harness.Program) harness.Program {
	p.Args = append([]string{"netns", "exec", ns.name, p.Path}, p.Args...)
	p.Path = "ip"
	return p
}

func command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

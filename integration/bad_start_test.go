//go:build integration

package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// refused starts the job, which must end by itself within seconds with the exit code and one line with all that is wanted.
func (j *sumsJob) refused(t *testing.T, program harness.Program, code int, wanted ...string) {
	t.Helper()
	begin := time.Now()
	p := program.Start(t)
	if got := p.Exit(15 * time.Second); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	oneLine(t, p, wanted...)
	t.Logf("after %s: %s", time.Since(begin).Round(time.Millisecond), linesWith(p.Stderr(), "processor: "))
}

func TestMissingTopicIsNamed(t *testing.T) {
	j := newSums(t, shared(t))
	in := j.in
	j.in = "no-such-topic"
	j.refused(t, j.program(t), cli.ExitMissingTopic, "no-such-topic")
	j.in, j.out = in, "no-such-output"
	j.refused(t, j.program(t), cli.ExitMissingTopic, "no-such-output")
}

func TestUnreachableBrokerIsNamed(t *testing.T) {
	j := newSums(t, shared(t))
	address := fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
	j.brokers = []string{address}
	j.refused(t, j.program(t), cli.ExitUnreachable, address)
}

func TestWrongPasswordIsSaid(t *testing.T) {
	cluster := harness.NewCluster(t, broker.Options{Users: map[string]string{"weir": "right"}})
	j := newSums(t, cluster)
	j.brokers = []string{cluster.Node.SASLAddr()}
	j.kafka = []string{"sasl: {mechanism: plain, username: weir, password: \"${WEIR_TEST_PASSWORD}\"}"}
	program := j.program(t)
	program.Env = []string{"WEIR_TEST_PASSWORD=wrong"}
	j.refused(t, program, cli.ExitAuthentication, "weir")

	program.Env = []string{"WEIR_TEST_PASSWORD=right"}
	p := program.Start(t)
	j.waitReady(t, p)
	j.stop(t, p)
}

func TestPortInUseIsNamed(t *testing.T) {
	j := newSums(t, shared(t))
	program := j.program(t)
	l, err := net.Listen("tcp", j.address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	j.refused(t, program, cli.ExitPortInUse, j.address, "listens there already")
}

func TestUnwritableDirectoryIsNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to run the job as another user: sudo -E make integration")
	}
	j := newSums(t, shared(t))
	program := j.program(t)
	// The job's own folder stays root's, and may be read by all.
	if err := os.Chmod(filepath.Dir(j.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	program.UID, program.GID = 65534, 65534
	program.Env = []string{"HOME=/"}
	j.refused(t, program, cli.ExitStorage, filepath.Join(j.dir, "state"), "permission denied")
}

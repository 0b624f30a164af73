package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/web"
)

// broker is a Kafka in memory with the topics numbers and totals.
func broker(t *testing.T, opts ...kfake.Opt) string {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(2, "numbers", "totals")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}

// produce writes values to a topic.
func produce(t *testing.T, broker, topic string, values ...string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, v := range values {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// sums writes the file of a running sum for each key; more lines go into its kafka block.
func sums(t *testing.T, broker string, kafka ...string) string {
	t.Helper()
	dir := t.TempDir()
	var more strings.Builder
	for _, line := range kafka {
		more.WriteString("  " + line + "\n")
	}
	path := filepath.Join(dir, "sums.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `job: sums
kafka:
  brokers: ["%s"]
%scheckpoint:
  interval: 20ms
  storage: %s
  local_dir: %s
source:
  in: {topics: [numbers], fields: {key: string, n: int}}
operators:
  - {name: by-key, key_by: key}
  - {name: sum, aggregate: {total: sum(n)}}
sink:
  out: {topic: totals}
`, broker, more.String(), filepath.Join(dir, "state"), filepath.Join(dir, "local")), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// running is a job that runs in this process.
type running struct {
	t       *testing.T
	out     output
	err     output
	code    chan int
	address string
}

// start runs a job and waits until it is ready.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t, code: make(chan int, 1)}
	p := &program{name: "processor", stdout: &r.out, stderr: &r.err}
	go func() { r.code <- p.main(append([]string{"processor", "run", "--address", "127.0.0.1:0"}, args...)) }()
	r.until("it listens", func() bool {
		_, rest, ok := strings.Cut(r.err.String(), "address=")
		if ok {
			r.address, _, ok = strings.Cut(rest, "\n")
		}
		return ok
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.err.String())
		}
	})
	c := &web.Client{Address: r.address}
	r.until("it runs", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && st.Phase == "running"
	})
	return r
}

// until waits for a condition, and fails if the job ends meanwhile.
func (r *running) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case code := <-r.code:
			r.t.Fatalf("exit code %d before %s:\n%s", code, what, r.err.String())
		case <-deadline.C:
			r.t.Fatalf("not within 20s: %s:\n%s", what, r.err.String())
		case <-tick.C:
		}
	}
}

// exit waits for the end of the job and returns its exit code.
func (r *running) exit() int {
	r.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	select {
	case code := <-r.code:
		return code
	case <-deadline.C:
		r.t.Fatalf("still runs:\n%s", r.err.String())
		return -1
	}
}

// stop asks the job to end and expects exit code 0.
func (r *running) stop() {
	r.t.Helper()
	if _, err := (&web.Client{Address: r.address}).Stop(r.t.Context(), runtime.StopRequest{}); err != nil {
		r.t.Fatal(err)
	}
	if code := r.exit(); code != ExitOK {
		r.t.Fatalf("exit code %d:\n%s", code, r.err.String())
	}
}

// totals are the values of the output that a read_committed reader sees, in order.
func totals(t *testing.T, broker string) []string {
	t.Helper()
	code, stdout, stderr := call("topics", "read", "totals", "--brokers", broker)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		if _, value, ok := strings.Cut(line, `"value":`); ok {
			out = append(out, strings.TrimSuffix(value, "}"))
		}
	}
	return out
}

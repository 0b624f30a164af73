//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/integration/harness"
)

// sumsJob is the job of most scenarios: a running sum of n per key, in YAML, over 4 partitions.
type sumsJob struct {
	cluster *harness.Cluster
	name    string
	in, out string
	dir     string // for state and the job's file
	address string // HTTP
	// What a scenario changes before it starts the job.
	brokers     []string
	parallelism int
	interval    time.Duration
	kafka       []string // more lines of the Kafka options
	checkpoint  []string // more lines of the checkpoint options
	source      []string // more lines of the source
	filter      string   // an expression that records must satisfy
}

// newSums creates the topics of a job with a name of its own.
func newSums(t *testing.T, cluster *harness.Cluster) *sumsJob {
	t.Helper()
	return &sumsJob{
		cluster:     cluster,
		name:        harness.Name("sums"),
		in:          cluster.Topic(t, "numbers", 4),
		out:         cluster.Topic(t, "sums", 4),
		dir:         t.TempDir(),
		address:     fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t)),
		brokers:     cluster.Brokers,
		parallelism: 2,
		interval:    50 * time.Millisecond,
	}
}

// program is `processor run` of the job. Every call has its own HTTP address, so that two processes can run at once;
// j.address is the last one's.
func (j *sumsJob) program(t *testing.T, args ...string) harness.Program {
	t.Helper()
	j.address = fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
	return harness.Program{
		Path: processor,
		Args: append([]string{"run", j.file(t), "--address", j.address}, args...),
		Dir:  j.dir,
	}
}

// start starts the job and waits until it is ready.
func (j *sumsJob) start(t *testing.T, args ...string) *harness.Process {
	t.Helper()
	p := j.program(t, args...).Start(t)
	j.waitReady(t, p)
	return p
}

func (j *sumsJob) waitReady(t *testing.T, p *harness.Process) {
	t.Helper()
	harness.Until(t, 30*time.Second, "readiness of "+j.name, func() (bool, string) {
		if !p.Running() {
			t.Fatalf("%s ended with exit code %d:\n%s", j.name, p.Exit(0), p.Output())
		}
		status, body := harness.Get(j.address, "/readyz")
		return status == 200, fmt.Sprint(status, " ", body)
	})
}

// ready reports whether the process that was started last says so.
func (j *sumsJob) ready() bool {
	status, _ := harness.Get(j.address, "/readyz")
	return status == 200
}

// stop asks the job to end and expects that it does so with exit code 0.
func (j *sumsJob) stop(t *testing.T, p *harness.Process) {
	t.Helper()
	p.Terminate()
	if code := p.Exit(30 * time.Second); code != 0 {
		t.Fatalf("%s: exit code %d after SIGTERM:\n%s", j.name, code, p.Output())
	}
	j.cluster.NoOpenTransactions(t, j.transactionPrefix()) // a commit is answered before its markers are written
}

// waitForOutput waits until a read_committed reader sees this many results.
func (j *sumsJob) waitForOutput(t *testing.T, records int64, within time.Duration) {
	t.Helper()
	// The last stable offsets count markers too, so they only tell when it is worth reading.
	var seen, end int64 = -1, -1
	harness.Until(t, within, fmt.Sprintf("%d results of %s", records, j.name), func() (bool, string) {
		if now := j.cluster.End(t, j.out); now != end {
			end = now
			if end >= records {
				seen = int64(harness.Count(j.cluster.Read(t, j.out)))
			}
		}
		return seen >= records, fmt.Sprintf("%d results, end at %d", seen, end)
	})
}

// checkInvariants checks what holds for every stopped job: each record of the input has its one result, in order per key;
// the group's offsets are the last pointer's; checkpoint IDs are dense; no transaction is open; and the job has
// no more than its four transactional IDs.
func (j *sumsJob) checkInvariants(t *testing.T, records int64) {
	t.Helper()
	input := j.cluster.Read(t, j.in)
	if n := int64(harness.Count(input)); n != records {
		t.Fatalf("the input has %d records, %d were sent", n, records)
	}
	want, err := harness.RunningSums(input)
	if err != nil {
		t.Fatal(err)
	}
	got, err := harness.ReadSums(j.cluster.Read(t, j.out))
	if err != nil {
		t.Fatal(err)
	}
	if err := want.Compare(got); err != nil {
		t.Error(err)
	}
	j.checkCorners(t)
}

// checkCorners checks what does not depend on the input.
func (j *sumsJob) checkCorners(t *testing.T) {
	t.Helper()
	pointers := j.cluster.Pointers(t, j.checkpointTopic())
	if len(pointers) == 0 {
		t.Fatal("no committed checkpoint")
	}
	if err := harness.DenseIDs(pointers); err != nil {
		t.Error(err)
	}
	j.cluster.OffsetsAgree(t, j.name, j.lastPointer(t))
	j.cluster.NoOpenTransactions(t, j.transactionPrefix())
	if ids := j.cluster.Transactions(t, j.transactionPrefix()); len(ids) > 4 {
		t.Errorf("%d transactional IDs, want at most 4", len(ids))
	}
}

// attempts is the number of attempts that have committed a checkpoint.
func (j *sumsJob) attempts(t *testing.T) int {
	t.Helper()
	attempts := map[string]bool{}
	for _, p := range j.cluster.Pointers(t, j.checkpointTopic()) {
		attempts[p.Attempt] = true
	}
	return len(attempts)
}

func (j *sumsJob) checkpointTopic() string   { return "weir." + j.name + ".checkpoints" }
func (j *sumsJob) transactionPrefix() string { return "weir." + j.name + "." }

// file writes the job's YAML and returns its path.
func (j *sumsJob) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(j.dir, "sums.yaml")
	whole := path + ".new" // a process that starts at this moment reads one or the other
	if err := os.WriteFile(whole, []byte(j.yaml()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(whole, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// stepNames are the job's steps: another job of the same name has none of them.
var stepNames = []string{"feed-in", "keep", "by-key", "running", "feed-out"}

func (j *sumsJob) yaml() string {
	filter := j.filter
	if filter == "" {
		filter = "n > 0"
	}
	return fmt.Sprintf(`job: %s
parallelism: %d

kafka:
  brokers: [%s]
%s
source:
  feed-in:
    topics: [%s]
    fields: {key: string, n: int, i: int}
%s
operators:
  - name: keep
    filter: %s
  - name: by-key
    key_by: key
  - name: running
    aggregate: {sum: sum(n)}

sink:
  feed-out:
    topic: %s

checkpoint:
  interval: %s
  storage: %s
  local_dir: %s
%s`, j.name, j.parallelism, strings.Join(j.brokers, ", "), indent(2, j.kafka), j.in, indent(4, j.source), filter, j.out,
		j.interval, filepath.Join(j.dir, "state"), filepath.Join(j.dir, "local"), indent(2, j.checkpoint))
}

func indent(spaces int, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", spaces), line)
	}
	return b.String()
}

// checkState checks that the state a new process restores is that of the loop: one more record of each key shows its sum.
func (j *sumsJob) checkState(t *testing.T, records int64) {
	t.Helper()
	seen := map[string]bool{}
	var probes []*kgo.Record
	for partition, rs := range j.cluster.Read(t, j.in) {
		for _, r := range rs {
			if !seen[string(r.Key)] {
				seen[string(r.Key)] = true
				probes = append(probes, &kgo.Record{
					Topic: j.in, Partition: partition, Key: r.Key, Timestamp: r.Timestamp,
					Value: fmt.Appendf(nil, `{"key":"%s","n":1,"i":%d}`, r.Key, records+int64(len(probes))),
				})
			}
		}
	}
	j.cluster.ProduceTo(t, probes...)
	records += int64(len(probes))
	p := j.start(t)
	j.waitForOutput(t, records, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, records)
}

// lastPointer is the last committed pointer with what of it is in a file.
func (j *sumsJob) lastPointer(t *testing.T) *checkpoint.Pointer {
	t.Helper()
	records := j.cluster.Read(t, j.checkpointTopic())[0]
	p, err := checkpoint.DecodePointer(records[len(records)-1].Value)
	if err != nil {
		t.Fatal(err)
	}
	if p.File == nil {
		return p
	}
	ctx := harness.Context(t, 20*time.Second)
	store, err := checkpoint.OpenStore(ctx, filepath.Join(j.dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p, err = checkpoint.LoadPointer(ctx, checkpoint.NewFiles(store, nil), records[len(records)-1].Value)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

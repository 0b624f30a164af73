//go:build integration

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// C45, C46: a running sum over many keys goes from parallelism 1 to 4 from a checkpoint and to 3 from a savepoint, each start on an empty
// disk: from the storage alone. The output is the loop's, and nothing is read again after a stop. Before each change three starts at
// the old parallelism and three at the new one restore the same state, while no record comes: how long they take is printed, and is
// not asserted, since the machine may be busy. WEIR_RESCALE_KEYS is the number of keys.
func TestRescalingIsExactAndIsMeasured(t *testing.T) {
	r := &rescaling{sumsJob: newSums(t, shared(t)), keys: 50_000}
	if text := os.Getenv("WEIR_RESCALE_KEYS"); text != "" {
		var err error
		if r.keys, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r.interval = time.Second
	r.numbers = harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: r.keys}

	p := r.startAt(t, 1)
	r.feed(t, 2*int64(r.keys))
	r.stop(t, p)
	p = r.compare(t, 1, 4)
	r.feed(t, int64(r.keys)/10)

	savepoint := filepath.Join(r.dir, "savepoint")
	r.stop(t, p, "--savepoint="+savepoint)
	p = r.compare(t, 4, 3, "--from", savepoint)
	r.feed(t, int64(r.keys)/10)
	r.stop(t, p)
	r.checkInvariants(t, r.sent)
}

type rescaling struct {
	*sumsJob
	numbers harness.Numbers
	keys    int
	sent    int64
}

// startAt starts the job without anything on the local disk.
func (r *rescaling) startAt(t *testing.T, parallelism int, args ...string) *harness.Process {
	t.Helper()
	r.parallelism = parallelism
	if err := os.RemoveAll(filepath.Join(r.dir, "local")); err != nil {
		t.Fatal(err)
	}
	return r.start(t, args...)
}

// compare starts at both parallelisms in turn, and leaves the last start running at the new one.
func (r *rescaling) compare(t *testing.T, old, changed int, args ...string) *harness.Process {
	t.Helper()
	const rounds = 3
	took := map[int][]time.Duration{}
	for round := 1; ; round++ {
		for _, parallelism := range []int{old, changed} {
			p := r.startAt(t, parallelism, args...)
			took[parallelism] = append(took[parallelism], recoveryOf(t, p))
			if round == rounds && parallelism == changed {
				slices.Sort(took[old])
				slices.Sort(took[changed])
				t.Logf("recovery at parallelism %d %v, at %d %v: in the median %.2f times", old, took[old], changed, took[changed],
					float64(took[changed][rounds/2])/float64(took[old][rounds/2]))
				return p
			}
			r.stop(t, p)
		}
	}
}

// feed produces the next n records, and waits until their output is committed: only they have been read.
func (r *rescaling) feed(t *testing.T, n int64) {
	t.Helper()
	for end := r.sent + n; r.sent < end; {
		next := min(end, r.sent+100_000)
		r.cluster.ProduceNumbers(t, r.in, r.numbers, r.sent, next)
		r.sent = next
	}
	r.waitForOutput(t, r.sent, 5*time.Minute)
	if read := r.recordsIn(t); read != n {
		t.Errorf("parallelism %d has read %d records, want the %d that are new", r.parallelism, read, n)
	}
}

func (r *rescaling) stop(t *testing.T, p *harness.Process, args ...string) {
	t.Helper()
	args = append([]string{"stop", filepath.Join(r.dir, "sums.yaml"), "--address", r.address}, args...)
	stop := harness.Program{Path: processor, Args: args}.Start(t)
	if code := stop.Exit(5 * time.Minute); code != 0 {
		t.Fatalf("stop: exit code %d:\n%s", code, stop.Output())
	}
	if code := p.Exit(30 * time.Second); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, p.Output())
	}
}

var recoveryField = regexp.MustCompile(`msg=running .*recovery=(\S+)`)

// recoveryOf is how long the start took from the first question to the brokers until it processed.
func recoveryOf(t *testing.T, p *harness.Process) time.Duration {
	t.Helper()
	var found []string
	harness.Until(t, 10*time.Second, "the log says how long the recovery took", func() (bool, string) { // just after the job is ready
		found = recoveryField.FindStringSubmatch(p.Output())
		return found != nil, p.Output()
	})
	d, err := time.ParseDuration(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// recordsIn is how many records the process has read.
func (j *sumsJob) recordsIn(t *testing.T) int64 {
	t.Helper()
	var st struct {
		RecordsIn int64 `json:"records_in"`
	}
	_, body := harness.Get(j.address, "/api/v1/status")
	if err := json.Unmarshal([]byte(body), &st); err != nil {
		t.Fatal(err)
	}
	return st.RecordsIn
}

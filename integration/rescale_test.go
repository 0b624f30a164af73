//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// C45, C46: a running sum over many keys at parallelism 1, 4 and 3, each start on an empty disk: from the storage alone. The output is
// the loop's, and nothing is read again after a stop. How long each start takes until it processes is printed beside that of a start
// at the same parallelism, and is not asserted: the machine may be busy. WEIR_RESCALE_KEYS is the number of keys.
func TestRescalingIsExactAndIsMeasured(t *testing.T) {
	keys := 50_000
	if text := os.Getenv("WEIR_RESCALE_KEYS"); text != "" {
		var err error
		if keys, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	j := newSums(t, shared(t))
	j.interval = time.Second
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: keys}
	sent := int64(0)
	feed := func(n int64) {
		for end := sent + n; sent < end; {
			next := min(end, sent+100_000)
			j.cluster.ProduceNumbers(t, j.in, numbers, sent, next)
			sent = next
		}
	}
	var before time.Duration
	var from []string
	for i, parallelism := range []int{1, 1, 4, 4, 3} {
		j.parallelism = parallelism
		if err := os.RemoveAll(filepath.Join(j.dir, "local")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		p := j.start(t, from...)
		ready, recovery := time.Since(began), recoveryOf(t, p)
		n := int64(keys) / 10
		if i == 0 {
			n = 2 * int64(keys)
		} else {
			state := j.lastPointer(t)
			size := int64(0)
			for _, f := range state.AllFiles() {
				size += f.Size
			}
			line := fmt.Sprintf("parallelism %d: ready after %s, recovery %s, %d bytes of files", parallelism, ready.Round(time.Millisecond), recovery.Round(time.Millisecond), size)
			if before > 0 {
				line += fmt.Sprintf(", %.2f times the start before", float64(recovery)/float64(before))
			}
			t.Log(line)
			before = recovery
		}
		feed(n)
		j.waitForOutput(t, sent, 5*time.Minute)
		if read := j.recordsIn(t); read != n {
			t.Errorf("parallelism %d has read %d records, want the %d that are new", parallelism, read, n)
		}
		args := []string{"stop", filepath.Join(j.dir, "sums.yaml"), "--address", j.address}
		if i == 3 { // the next start is from a savepoint
			dir := filepath.Join(j.dir, "savepoint")
			args, from = append(args, "--savepoint="+dir), []string{"--from", dir}
		}
		stop := harness.Program{Path: processor, Args: args}.Start(t)
		if code := stop.Exit(5 * time.Minute); code != 0 {
			t.Fatalf("stop: exit code %d:\n%s", code, stop.Output())
		}
		if code := p.Exit(30 * time.Second); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, p.Output())
		}
	}
	j.checkInvariants(t, sent)
}

var recoveryField = regexp.MustCompile(`msg=running .*recovery=(\S+)`)

// recoveryOf is how long the start took from the first question to the brokers until it processed.
func recoveryOf(t *testing.T, p *harness.Process) time.Duration {
	t.Helper()
	found := recoveryField.FindStringSubmatch(p.Output())
	if found == nil {
		t.Fatalf("the log does not say how long the recovery took:\n%s", p.Output())
	}
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

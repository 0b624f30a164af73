//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
)

// C46: a job with a large state is stopped and started at another parallelism, with its local copies and without. How long no result
// was committed, from the request to stop to the first result afterwards, is printed and not asserted, since the machine may be
// busy. WEIR_RESCALE_MB is the size of the state; 10,000 need three times as much on the disk.
func TestAnyAmountOfStateIsRescaled(t *testing.T) {
	size := 64
	if text := os.Getenv("WEIR_RESCALE_MB"); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	path, err := harness.Build("github.com/weirstream/weir/integration/testjobs/large")
	if err != nil {
		t.Fatal(err)
	}
	j := newSums(t, shared(t))
	storage := filepath.Join(j.dir, "state")
	var answers int64
	start := func(parallelism int) *harness.Process {
		t.Helper()
		j.address = fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
		p := harness.Program{Path: path, Dir: j.dir, Args: []string{"run", "--address", j.address}, Env: []string{
			"WEIR_JOB=" + j.name, "WEIR_BROKERS=" + strings.Join(j.brokers, ","), "WEIR_IN=" + j.in, "WEIR_OUT=" + j.out,
			"WEIR_STORAGE=" + storage, "WEIR_PARALLELISM=" + strconv.Itoa(parallelism),
		}}.Start(t)
		harness.Until(t, 5*time.Minute, "readiness of "+j.name, func() (bool, string) {
			if !p.Running() {
				t.Fatalf("%s ended with exit code %d:\n%s", j.name, p.Exit(0), p.Output())
			}
			status, body := harness.Get(j.address, "/readyz")
			return status == 200, fmt.Sprint(status, " ", body)
		})
		return p
	}
	send := func(commands ...string) {
		t.Helper()
		var records []*kgo.Record
		for i, c := range commands {
			records = append(records, &kgo.Record{Topic: j.in, Partition: int32(i % 4), Value: []byte(c)})
		}
		j.cluster.ProduceTo(t, records...)
		answers += int64(len(commands))
	}

	p := start(2)
	const block = 1024 // keys: 4 MiB
	keys := size * 256
	for from := 0; from < keys; {
		var fills []string
		for ; from < keys && len(fills) < 16; from += block {
			fills = append(fills, fmt.Sprintf("fill %d %d", from, min(from+block, keys)))
		}
		send(fills...)
		j.waitForOutput(t, answers, time.Minute) // no faster than checkpoints can be stored
	}

	rng := harness.Rand(t)
	var want []string
	for _, c := range []struct {
		parallelism int
		local       bool
	}{{4, true}, {2, false}, {4, false}, {4, true}} {
		var probes []string
		for range 100 {
			key := rng.IntN(keys)
			probes = append(probes, fmt.Sprint("probe ", key))
			want = append(want, fmt.Sprint(key, " right"))
		}
		began := time.Now()
		p.Terminate()
		if code := p.Exit(5 * time.Minute); code != 0 {
			t.Fatalf("exit code %d after SIGTERM:\n%s", code, p.Output())
		}
		stopped := time.Since(began)
		if !c.local {
			if err := os.RemoveAll(storage + "-local"); err != nil {
				t.Fatal(err)
			}
		}
		send(probes...)
		p = start(c.parallelism)
		j.waitForOutput(t, answers, 5*time.Minute)
		t.Logf("%d MiB at parallelism %d, local copies %v: %s without a result, of which %s until the process had ended; recovery %s", size, c.parallelism, c.local,
			time.Since(began).Round(time.Millisecond), stopped.Round(time.Millisecond), recoveryOf(t, p))
		got := j.probed(t)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	j.stop(t, p)
	j.checkCorners(t)
}

// probed are the answers to all probes.
func (j *sumsJob) probed(t *testing.T) (values []string) {
	t.Helper()
	for _, records := range j.cluster.Read(t, j.out) {
		for _, r := range records {
			if !strings.HasPrefix(string(r.Value), "filled ") {
				values = append(values, string(r.Value))
			}
		}
	}
	return values
}

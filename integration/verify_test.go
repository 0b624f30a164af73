//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// A job is killed again and again and verified meanwhile and afterwards; then one result is taken away, one repeated and one
// changed, and `processor verify` names each with its key, partition and offset.
func TestVerifyAgreesWithAKilledJobAndFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}, 2000)
	current := j.start(t)
	for range 3 {
		j.waitForMore(t, 500)
		current.Kill()
		current = j.start(t)
		if code, out := j.verify(t); code != cli.ExitOK {
			t.Fatalf("verify while the job runs: exit code %d:\n%s", code, out)
		}
	}
	j.finish(t, feed, current)
	if code, out := j.verify(t); code != cli.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, out)
	}

	planted := j.cluster.Topic(t, "planted", 4)
	want := j.plant(t, planted)
	j.out = planted
	code, out := j.verify(t)
	if code != cli.ExitDifferent {
		t.Errorf("exit code %d, want %d", code, cli.ExitDifferent)
	}
	for _, line := range want {
		if !strings.Contains(out, line) {
			t.Errorf("not reported: %s", line)
		}
	}
	if n := strings.Count(out, ": topic "+planted+" partition "); n != len(want) {
		t.Errorf("%d findings, want %d", n, len(want))
	}
	if t.Failed() {
		t.Log(out)
	}
}

// verify runs `processor verify` to its end.
func (j *sumsJob) verify(t *testing.T) (code int, output string) {
	t.Helper()
	p := harness.Program{Path: processor, Args: []string{"verify", j.file(t), "--temp-dir", t.TempDir()}, Dir: j.dir}.Start(t)
	code = p.Exit(time.Minute)
	return code, p.Output()
}

// plant copies the output to another topic without one record, with one twice and with one changed, each of a key of its
// own. It returns what a verification has to say of them.
func (j *sumsJob) plant(t *testing.T, to string) (want []string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(j.cluster.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var records []*kgo.Record
	seen, keys := map[string]int{}, []string{}
	for partition, all := range j.cluster.Read(t, j.out) {
		offset := int64(0)
		add := func(r *kgo.Record, value []byte) {
			records = append(records, &kgo.Record{Topic: to, Partition: partition, Key: r.Key, Value: value, Timestamp: r.Timestamp, Headers: r.Headers})
			offset++
		}
		for _, r := range all {
			key := string(r.Key)
			if seen[key]++; seen[key] != 5 || len(keys) == 3 {
				add(r, r.Value)
				continue
			}
			keys = append(keys, key)
			switch len(keys) {
			case 1:
				want = append(want, fmt.Sprintf("lost: topic %s partition %d key %q: want %q; from topic %s ", to, partition, key, r.Value, j.in))
			case 2:
				add(r, r.Value)
				want = append(want, fmt.Sprintf("doubled: topic %s partition %d offset %d key %q: %q", to, partition, offset, key, r.Value))
				add(r, r.Value)
			case 3:
				want = append(want, fmt.Sprintf("different: topic %s partition %d offset %d key %q: want %q, got \"{}\"; from topic %s ", to, partition, offset, key, r.Value, j.in))
				add(r, []byte("{}"))
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return want
}

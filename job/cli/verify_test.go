package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/verify"
	"github.com/weirstream/weir/job"
)

func TestVerifySaysWhetherTheOutputIsWhatTheJobComputes(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	if code, _, err := call("verify", file); code != ExitUndecided || !strings.Contains(err, "there is no topic weir.sums.checkpoints") {
		t.Errorf("before the first start: exit code %d, %s", code, err)
	}
	for i := range 40 {
		produceKeyed(t, b, "numbers", fmt.Sprint("k", i%4), fmt.Sprintf(`{"key":"k%d","n":%d}`, i%4, i))
	}
	if code, _, err := call("run", file, "--set", "source.in.stop_at=latest", "--address", "off"); code != ExitOK {
		t.Fatalf("exit code %d: %s", code, err)
	}
	code, out, err := call("verify", file)
	if code != ExitOK || err != "" || !regexp.MustCompile(`totals +40 +40 +40 +0 +0 +0 +0 +0 +0 +0`).MatchString(out) {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}

	produceKeyed(t, b, "totals", "k1", `{"key":"k1","total":190}`)
	produceKeyed(t, b, "totals", "k9", "x")
	code, out, err = call("verify", file)
	if code != ExitDifferent || !regexp.MustCompile(`(?m)^made up: topic totals partition \d offset \d+ key "k9": "x"$`).MatchString(out) ||
		!strings.Contains(err, "job sums: the output differs from what a plain loop over the input computes: 2 made up") {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
	code, out, _ = call("verify", file, "--json")
	var report job.VerifyReport
	if err := json.Unmarshal([]byte(out), &report); code != ExitDifferent || err != nil || report.Count(verify.MadeUp) != 2 {
		t.Errorf("exit code %d: %v:\n%s", code, err, out)
	}
}

// A job that was changed without a new lineage differs from itself; that is asked before a loss is believed.
func TestVerifyAsksWhetherTheJobWasChanged(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	for i := range 8 {
		produceKeyed(t, b, "numbers", fmt.Sprint("k", i%4), fmt.Sprintf(`{"key":"k%d","n":%d}`, i%4, i))
	}
	if code, _, err := call("run", file, "--set", "source.in.stop_at=latest", "--address", "off"); code != ExitOK {
		t.Fatalf("exit code %d: %s", code, err)
	}
	code, _, err := call("verify", file, "--set", "operators.sum.aggregate.total=count()")
	if code != ExitDifferent || !strings.Contains(err, "is this the job, unchanged, that has run since checkpoint 1? if not: --from a savepoint") {
		t.Errorf("exit code %d: %s", code, err)
	}
}

func TestVerifyNamesTheOperatorWhoseResultsDependOnInterleaving(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	for i := range 40 {
		produceKeyed(t, b, "numbers", fmt.Sprint(i), fmt.Sprintf(`{"key":"k","n":%d}`, i))
	}
	if code, _, err := call("run", file, "--set", "source.in.stop_at=latest", "--address", "off"); code != ExitOK {
		t.Fatalf("exit code %d: %s", code, err)
	}
	want := `processor: verify: operator sum: its results depend on how partitions interleave: key "k" is in partitions 0 and 1 of topic numbers; --last compares the last value of each key`
	if code, out, err := call("verify", file); code != ExitUndecided || out != "" || strings.TrimSpace(err) != want {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
	if code, out, err := call("verify", file, "--last"); code != ExitOK {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
}

func TestVerifyTakesOutputOffsetsFromTheCommandLine(t *testing.T) {
	from, err := outputFrom([]string{"a:0=5", "a:b:1=7", "a:1=0"})
	if err != nil || from["a"][0] != 5 || from["a:b"][1] != 7 || len(from["a"]) != 2 {
		t.Errorf("got %v, %v", from, err)
	}
	for _, bad := range []string{"a", "a:0", "a=5", ":0=5", "a:x=5", "a:0=x", "a:0=-1", "a:-1=0"} {
		if _, err := outputFrom([]string{bad}); !isUsage(err) {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

func TestABarIsDrawnOnTerminalsOnly(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := newBar(f)
	b.show(job.VerifyProgress{Phase: "input", Done: 1, Total: 2})
	b.stop()
	if info, err := f.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func produceKeyed(t *testing.T, broker, topic, key, value string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

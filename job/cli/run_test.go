package cli

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAJobRunsStopsAndContinuesFromASavepoint(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`, `{"key":"a","n":2}`)
	j := start(t, file)
	want := []string{`{"key":"a","total":1}`, `{"key":"a","total":3}`}
	j.until("two results", func() bool { return slices.Equal(totals(t, b), want) })

	dir := filepath.Join(t.TempDir(), "savepoint")
	code, stdout, stderr := call("savepoint", "create", file, "--address", j.address, "--dir", dir)
	if code != 0 || strings.TrimSpace(stdout) != dir {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil {
		t.Error(err)
	}
	// A second one would write over the first.
	if code, _, stderr := call("savepoint", "create", "sums", "--address", j.address, "--dir", dir); code != ExitOther || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := call("savepoint", "create", "others", "--address", j.address); code != ExitOther || !strings.Contains(stderr, "is sums, not others") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := call("health", file, "--address", j.address); code != ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	produce(t, b, "numbers", `{"key":"a","n":4}`)
	j.until("three results", func() bool { return len(totals(t, b)) == 3 })
	j.stop()
	if n := strings.Count(j.err.String(), "\n"); n > 6 {
		t.Errorf("%d lines in the log of a job to which nothing happened:\n%s", n, j.err.String())
	}
	if code, _, stderr := call("health", file, "--address", j.address); code != ExitOther {
		t.Errorf("exit code %d: %s", code, stderr)
	}

	for _, args := range [][]string{{"list", file}, {"list", "sums", "--brokers", b, "--json"}, {"show", file}, {"show", file, "1"}} {
		code, stdout, stderr := call(append([]string{"checkpoints"}, args...)...)
		if code != 0 || !strings.Contains(stdout, "start") {
			t.Errorf("checkpoints %s: exit code %d: %s%s", strings.Join(args, " "), code, stdout, stderr)
		}
	}
	if code, _, stderr := call("checkpoints", "show", file, "100000"); code != ExitOther || !strings.Contains(stderr, "the oldest") {
		t.Errorf("exit code %d: %s", code, stderr)
	}

	// From the savepoint, the third number is read again.
	j = start(t, file, "--from", dir)
	j.until("it comes again", func() bool { return len(totals(t, b)) == 4 })
	j.stop()
	// The same flags once more, as a supervisor gives them: nothing is read again.
	j = start(t, file, "--from", dir)
	produce(t, b, "numbers", `{"key":"a","n":8}`)
	j.until("the next number", func() bool { return len(totals(t, b)) == 5 })
	j.stop()
	if got := totals(t, b); got[3] != `{"key":"a","total":7}` || got[4] != `{"key":"a","total":15}` {
		t.Errorf("%v", got)
	}
}

func TestFailuresAtTheStartAreOneLineWithAnExitCode(t *testing.T) {
	b := broker(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	notADirectory := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notADirectory, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		file string
		args []string
		want int
		says string
	}{
		{"unreachable broker", sums(t, "127.0.0.1:1"), nil, ExitUnreachable, "127.0.0.1:1: connection refused"},
		{"unknown host", sums(t, "nowhere.invalid:9092"), nil, ExitUnreachable, "nowhere.invalid"},
		{"missing source topic", sums(t, b), []string{"--set", "source.in.topics=nothing"}, ExitMissingTopic, "nothing"},
		{"missing sink topic", sums(t, b), []string{"--set", "sink.out.topic=nowhere"}, ExitMissingTopic, "nowhere"},
		{"port in use", sums(t, b), []string{"--address", taken.Addr().String()}, ExitPortInUse, taken.Addr().String()},
		{"local directory is a file", sums(t, b), []string{"--set", "checkpoint.local_dir=" + notADirectory}, ExitStorage, notADirectory},
		{"no savepoint there", sums(t, b), []string{"--from", filepath.Join(t.TempDir(), "none")}, ExitRestore, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			args := []string{"run", c.file, "--log-level", "error"}
			if !slices.Contains(c.args, "--address") {
				args = append(args, "--address", "off")
			}
			code, _, stderr := call(append(args, c.args...)...)
			var plain []string
			for _, line := range strings.Split(strings.TrimSpace(stderr), "\n") {
				if !strings.HasPrefix(line, "time=") {
					plain = append(plain, line)
				}
			}
			if code != c.want || len(plain) != 1 || !strings.HasPrefix(plain[0], "processor: ") || !strings.Contains(plain[0], c.says) {
				t.Errorf("exit code %d, want %d and a line about %s:\n%s", code, c.want, c.says, stderr)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestABadRecordStopsTheJobAndIsNamed(t *testing.T) {
	b := broker(t)
	produce(t, b, "numbers", "this is no JSON")
	code, _, stderr := call("run", sums(t, b), "--address", "off")
	if code != ExitBadRecord || !strings.Contains(stderr, "topic numbers partition") || !strings.Contains(stderr, "set on_bad_record") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	if strings.Count(stderr, "this is no JSON") != 1 {
		t.Errorf("it is not said once:\n%s", stderr)
	}
	// Programs that read the log find the error there.
	if _, _, stderr := call("run", sums(t, b), "--address", "off", "--log-format", "json"); strings.Count(stderr, "this is no JSON") != 2 {
		t.Errorf("it is not in the log:\n%s", stderr)
	}
}

func TestAJobWithoutCheckpointsSaysSo(t *testing.T) {
	b := broker(t, kfake.SeedTopics(1, "weir.empty.checkpoints"))
	for _, name := range []string{"empty", "missing"} {
		code, _, stderr := call("checkpoints", "list", name, "--brokers", b)
		if code != ExitOther || !strings.Contains(stderr, "job "+name+" has no checkpoints") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
}

func TestWhatALineageBeganWithIsShort(t *testing.T) {
	const id = "7f3c0a12-1111-4222-8333-123456789abc"
	for request, want := range map[string]string{
		"start": "start", "fresh:": "fresh", "fresh:2": "fresh:2", "from:" + id + "-41": "from:7f3c0a12-41", "fresh:2#" + id: "fresh:2#7f3c0a12",
	} {
		if got := shortRequest(request); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
}

func TestAWrongTokenIsToldFromAMissingOne(t *testing.T) {
	b := broker(t)
	j := start(t, sums(t, b), "--token", "right")
	for token, says := range map[string]string{"": "give --token", "wrong": "the token is wrong"} {
		args := []string{"stop", "sums", "--address", j.address}
		if token != "" {
			args = append(args, "--token", token)
		}
		if code, _, stderr := call(args...); code != ExitOther || !strings.Contains(stderr, says) {
			t.Errorf("%q: exit code %d: %s", token, code, stderr)
		}
	}
	if code, _, stderr := call("stop", "sums", "--address", j.address, "--token", "right"); code != ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code := j.exit(); code != ExitOK {
		t.Errorf("exit code %d:\n%s", code, j.err.String())
	}
}

func TestASavepointWithoutAFileIsRefused(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	j := start(t, file)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	dir := filepath.Join(t.TempDir(), "savepoint")
	if code, _, stderr := call("savepoint", "create", file, "--address", j.address, "--dir", dir); code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	j.stop()
	kept, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kept {
		if f.Name() != "manifest.json" {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	code, _, stderr := call("run", file, "--address", "off", "--from", dir, "--again")
	if code != ExitRestore || !strings.Contains(stderr, dir) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestHeadersAndMarkersAreShown(t *testing.T) {
	b := broker(t)
	cl, err := kgo.NewClient(kgo.SeedBrokers(b))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	r := &kgo.Record{Topic: "totals", Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: "weir.step", Value: []byte("in")}, {Key: "x", Value: nil}}}
	if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := call("topics", "read", "totals", "--brokers", b); !strings.Contains(stdout, `"headers":{"weir.step":"in","x":null},"key":null,"value":1}`) {
		t.Error(stdout)
	}
	if code, stdout, stderr := call("topics", "create", "one", "--retention", "-1", "--brokers", b); code != ExitOK || stdout != "topic one created with 1 partition\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestASecondProcessTakesOver(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	first := start(t, file)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	first.until("a result", func() bool { return len(totals(t, b)) == 1 })
	second := start(t, file)
	produce(t, b, "numbers", `{"key":"a","n":2}`)
	if code := first.exit(); code != ExitTakenOver {
		t.Errorf("exit code %d:\n%s", code, first.err.String())
	}
	lines := strings.Split(strings.TrimSpace(first.err.String()), "\n")
	last := lines[len(lines)-1]
	if strings.Count(last, "another process") != 1 || !strings.Contains(last, "runs this job now: checkpoint ") || len(last) > 220 {
		t.Errorf("the last line has %d characters: %s", len(last), last)
	}
	second.until("two results", func() bool {
		return slices.Equal(totals(t, b), []string{`{"key":"a","total":1}`, `{"key":"a","total":3}`})
	})
	second.stop()
}

package cli

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
	if code != ExitBadRecord || !strings.Contains(stderr, "topic numbers partition") || !strings.Contains(stderr, "this is no JSON") {
		t.Errorf("exit code %d:\n%s", code, stderr)
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
	second.until("two results", func() bool {
		return slices.Equal(totals(t, b), []string{`{"key":"a","total":1}`, `{"key":"a","total":3}`})
	})
	second.stop()
}

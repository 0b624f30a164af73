package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
)

// C37: stop waits, and says how it ended; to repeat it changes nothing.
func TestStopWaitsAndSaysHowItEnded(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	dir := filepath.Join(t.TempDir(), "savepoint")

	j := start(t, file)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	code, stdout, stderr := call("stop", file, "--address", j.address, "--savepoint="+dir)
	if code != ExitOK || stdout != "job sums is stopped, savepoint at "+dir+"\n" || stderr != "" {
		t.Fatalf("exit code %d: %q, %q", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, checkpoint.ManifestName)); err != nil {
		t.Error(err)
	}
	if code := j.exit(); code != ExitOK {
		t.Errorf("exit code %d:\n%s", code, j.err.String())
	}

	// It has ended: its last checkpoint tells how.
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"the same", []string{file, "--savepoint=" + dir}, ExitOK, "job sums is stopped, savepoint at " + dir},
		{"any savepoint", []string{file, "--savepoint"}, ExitOK, "job sums is stopped, savepoint at " + dir},
		{"by name", []string{"sums", "--brokers", b, "--savepoint=" + dir}, ExitOK, "job sums is stopped, savepoint at " + dir},
		{"without a savepoint", []string{file}, ExitOK, "job sums is stopped at checkpoint "},
		{"another savepoint", []string{file, "--savepoint=" + dir + "-2"}, ExitOther, "it was stopped without a savepoint in " + dir + "-2"},
		{"drained", []string{file, "--drain"}, ExitOther, "it was not drained"},
		{"by name alone", []string{"sums"}, ExitUnreachable, "no job answers at http://" + j.address},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call(append([]string{"stop", "--address", j.address}, c.args...)...)
			if code != c.code || !strings.Contains(stdout+stderr, c.says) {
				t.Errorf("exit code %d: %q, %q; want %d, %q", code, stdout, stderr, c.code, c.says)
			}
		})
	}
	if err := os.Remove(filepath.Join(dir, checkpoint.ManifestName)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call("stop", file, "--address", j.address, "--savepoint="+dir); code != ExitUnreachable || !strings.Contains(stderr, "for savepoint "+dir+", which is not whole") {
		t.Errorf("exit code %d: %q", code, stderr)
	}

	// A job that runs on: whatever keeps it from stopping is said.
	j = start(t, file)
	if code, _, stderr := call("stop", file, "--address", j.address, "--savepoint="+filepath.Join(file, "below-a-file")); code != ExitOther || !strings.Contains(stderr, "job sums is running: ") {
		t.Errorf("exit code %d: %q", code, stderr)
	}
	produce(t, b, "numbers", `{"key":"a","n":2}`)
	j.until("a result", func() bool { return len(totals(t, b)) == 2 })
	code, stdout, stderr = call("stop", file, "--address", j.address, "--drain", "--json")
	var s stopped
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != ExitOK || s.Phase != runtime.StopDone || !s.Drain || s.Checkpoint == 0 {
		t.Errorf("exit code %d: %q, %q, %v", code, stdout, stderr, err)
	}
	j.exit()
	if code, stdout, stderr := call("stop", file, "--address", j.address, "--drain"); code != ExitOK || !strings.Contains(stdout, ", drained") {
		t.Errorf("exit code %d: %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := call("run", file, "--address", "off"); code != ExitRestore || !strings.Contains(stderr, "the job was drained there") {
		t.Errorf("exit code %d: %q", code, stderr)
	}
}

// A job that was not stopped is not called so because nobody answers: it was killed, or it is elsewhere.
func TestAJobThatDoesNotAnswerIsNotCalledStopped(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	j := start(t, file)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	code, stdout, stderr := call("stop", file, "--address", "127.0.0.1:1")
	if code != ExitUnreachable || stdout != "" || !strings.Contains(stderr, "job sums is not running, or not there: its last checkpoint is ") {
		t.Errorf("exit code %d: %q, %q", code, stdout, stderr)
	}
	j.stop()
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirstream/weir/checkpoint"
)

// C37: a job that could not stop is not called stopped, by its last checkpoint, because nobody answers: neither while it runs nor
// when it was killed.
func TestAJobThatCouldNotStopIsNotCalledStopped(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	j := start(t, file)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	unusable := filepath.Join(file, "below-a-file")
	for _, args := range [][]string{{"--savepoint=" + unusable}, {"--savepoint=" + unusable, "--drain"}} {
		code, stdout, stderr := call(append([]string{"stop", file, "--address", j.address}, args...)...)
		if code != ExitOther || stdout != "" || !strings.Contains(stderr, "job sums is running: savepoint "+unusable+": storage ") {
			t.Errorf("%v: exit code %d: %q, %q", args, code, stdout, stderr)
		}
	}
	code, stdout, stderr := call("savepoint", "create", file, "--address", j.address, "--dir", unusable)
	if code == ExitOK || stdout != "" || !strings.Contains(stderr, "savepoint "+unusable+": storage ") {
		t.Errorf("savepoint create: exit code %d: %q, %q", code, stdout, stderr)
	}
	code, stdout, stderr = call("stop", file, "--address", j.address, "--json", "--savepoint="+unusable)
	if code != ExitOther || !strings.Contains(stdout, `"phase": "running"`) || strings.Contains(stdout, "checkpoint\"") {
		t.Errorf("exit code %d: %q, %q", code, stdout, stderr)
	}

	// A place that cannot be written any more when the last checkpoint is committed: the job has said since that it runs.
	dir := filepath.Join(t.TempDir(), "savepoint")
	if err := os.MkdirAll(filepath.Join(dir, checkpoint.ManifestName), 0o755); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = call("stop", file, "--address", j.address, "--savepoint="+dir)
	if code != ExitOther || stdout != "" || !strings.Contains(stderr, "job sums is running: ") {
		t.Errorf("exit code %d: %q, %q", code, stdout, stderr)
	}
	code, stdout, stderr = call("stop", file, "--address", "127.0.0.1:1")
	if code != ExitUnreachable || stdout != "" || !strings.Contains(stderr, "job sums is not running, or not there: its last checkpoint is ") {
		t.Errorf("exit code %d: %q, %q", code, stdout, stderr)
	}
	j.stop()
}

// What a checkpoint was taken for is not what came of it: the one that follows tells.
func TestACheckpointIsNotNotedForWhatDidNotHappen(t *testing.T) {
	last := checkpoint.Pointer{Attempt: "a", Last: true}
	saved := checkpoint.Pointer{Attempt: "a", Last: true, Savepoint: "/sp"}
	drained := checkpoint.Pointer{Attempt: "a", Last: true, Final: true, Drained: true, Savepoint: "/sp"}
	same, other := &checkpoint.Pointer{Attempt: "a"}, &checkpoint.Pointer{Attempt: "b", First: true}
	for _, c := range []struct {
		ptr  checkpoint.Pointer
		next *checkpoint.Pointer
		want string
	}{
		{last, nil, "stopped"},
		{last, other, "stopped"},
		{last, same, "asked to stop"},
		{saved, nil, "asked to stop, for savepoint /sp"},
		{saved, other, "asked to stop, for savepoint /sp"},
		{saved, same, "asked to stop, and went on without savepoint /sp"},
		{drained, nil, "drained, for savepoint /sp"},
		{checkpoint.Pointer{Attempt: "a", Savepoint: "/sp"}, same, "for savepoint /sp"},
		{*other, nil, "first of its attempt"},
	} {
		if got := note(&c.ptr, c.next); got != c.want {
			t.Errorf("%+v: %q, want %q", c.ptr, got, c.want)
		}
	}
}

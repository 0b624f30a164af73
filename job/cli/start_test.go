package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirstream/weir/internal/doctor/probe"
)

// A mistyped job leaves no litter: no topic of its own, no directory.
func TestAFirstStartThatIsRefusedLeavesNothingBehind(t *testing.T) {
	b := broker(t)
	other := broker(t)
	for _, c := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"a missing source topic", []string{"--set", "source.in.topics=nothing"}, ExitMissingTopic, "(processor topics create --brokers " + b + " nothing)"},
		{"a missing sink topic", []string{"--set", "sink.out.topic=nowhere"}, ExitMissingTopic, "(processor topics create --brokers " + b + " nowhere)"},
		{"two of them", []string{"--set", "source.in.topics=nothing", "--set", "sink.out.topic=nowhere"}, ExitMissingTopic,
			"topics nothing, nowhere: they do not exist; create what is missing: a job makes no topic but its own (processor topics create --brokers " + b + " nothing nowhere)"},
		{"a missing topic of another cluster", []string{"--set", "source.in.kafka.brokers=" + other, "--set", "source.in.topics=nothing"}, ExitMissingTopic,
			"(processor topics create --brokers " + other + " nothing)"},
		{"another cluster that is not there", []string{"--set", "source.in.kafka.brokers=127.0.0.1:1"}, ExitUnreachable, "127.0.0.1:1"},
		{"no savepoint there", []string{"--from", filepath.Join(t.TempDir(), "none")}, ExitRestore, "none"},
		{"no checkpoint to go back to", []string{"--from", "checkpoint:7"}, ExitRestore, "has no checkpoint at all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := sums(t, b)
			before := tree(t, filepath.Dir(file))
			if code, _, stderr := call(append([]string{"run", file, "--address", "off"}, c.args...)...); code != c.want || !strings.Contains(stderr, c.says) || strings.Contains(stderr, "running") {
				t.Errorf("exit code %d, want %d and %q: %s", code, c.want, c.says, stderr)
			}
			if after := tree(t, filepath.Dir(file)); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
			topics, err := admin(t, b).ListTopics(t.Context())
			if err != nil || len(topics) != 2 {
				t.Errorf("topics %v, %v", topics.Names(), err)
			}
		})
	}
}

// Of a job that is started in another directory nothing is damaged, and going back would write results twice.
func TestAStorageWithoutAFileOfTheJobIsNotTakenForDamage(t *testing.T) {
	b := broker(t, kfake.NumBrokers(1))
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`, `{"key":"b","n":2}`)
	relative := []string{"--set", "checkpoint.storage=state", "--set", "checkpoint.inline_threshold=1B", "--set", "checkpoint.retained=3"}
	home := t.TempDir()
	t.Chdir(home)
	j := start(t, append([]string{file}, relative...)...)
	j.until("results", func() bool { return len(totals(t, b)) == 2 })

	t.Chdir(t.TempDir())
	refused := func() {
		t.Helper()
		code, _, stderr := call(append([]string{"run", file, "--address", "off", "--log-level", "error"}, relative...)...)
		if code != ExitRestore || !strings.Contains(stderr, "is checkpoint.storage what it was? a directory that is not absolute (state) is below the working directory") ||
			strings.Contains(stderr, "--from") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
	refused() // while it runs, which does not disturb it
	produce(t, b, "numbers", `{"key":"a","n":3}`)
	j.until("a result", func() bool { return len(totals(t, b)) == 3 })
	j.stop()
	if strings.Contains(j.err.String(), "restart") {
		t.Errorf("the job was disturbed:\n%s", j.err.String())
	}
	refused()

	// Where one file is missing and others are there, an older checkpoint is offered still.
	t.Chdir(home)
	deltas, err := filepath.Glob("state/sums/0/*/*.delta")
	if err != nil || len(deltas) < 2 {
		t.Fatalf("%v, %v: %s", deltas, err, tree(t, "state"))
	}
	if err := os.Remove(deltas[len(deltas)-1]); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call(append([]string{"run", file, "--address", "off", "--log-level", "error"}, relative...)...)
	if code != ExitRestore || strings.Contains(stderr, "is checkpoint.storage") || !strings.Contains(stderr, "--from") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// What the list calls restorable can be gone back to, and the rest cannot.
func TestTheListSaysWhichCheckpointsCanBeRestored(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	asFiles := []string{file, "--set", "checkpoint.inline_threshold=1B", "--set", "checkpoint.retained=2"}
	j := start(t, asFiles...)
	for n := range 4 {
		produce(t, b, "numbers", fmt.Sprintf(`{"key":"a","n":%d}`, n))
		j.until("a result", func() bool { return len(totals(t, b)) == n+1 })
	}
	j.stop()
	list := func(args ...string) (listed []probe.Listed) {
		t.Helper()
		code, stdout, stderr := call(append([]string{"checkpoints", "list", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &listed); err != nil || code != ExitOK {
			t.Fatalf("exit code %d: %v: %s", code, err, stderr)
		}
		return listed
	}
	for i, l := range list(asFiles...) {
		if i < 2 && !l.Restorable {
			t.Errorf("checkpoint %d is one of the two that are retained, and lacks %s", l.Checkpoint, l.Lacks)
		}
	}
	deltas, err := filepath.Glob(filepath.Join(filepath.Dir(file), "state/sums/0/*/3-*.delta"))
	if err != nil || len(deltas) != 1 {
		t.Fatalf("%v, %v", deltas, err)
	}
	if err := os.Remove(deltas[0]); err != nil {
		t.Fatal(err)
	}
	listed := list(asFiles...)
	for i, l := range listed {
		if want := l.Checkpoint < 3; l.Restorable != want || want != (l.Lacks == "") {
			t.Errorf("checkpoint %d: restorable %v: %s", l.Checkpoint, l.Restorable, l.Lacks)
		}
		code, _, stderr := call(append([]string{"run", "--address", "off", "--set", "source.in.stop_at=latest", "--from", fmt.Sprint("checkpoint:", l.Checkpoint)}, asFiles...)...)
		if want := map[bool]int{true: ExitOK, false: ExitRestore}[l.Restorable]; code != want {
			t.Errorf("checkpoint %d: exit code %d, want %d: %s", l.Checkpoint, code, want, stderr)
		}
		if l.Restorable || i > 4 {
			break // what was begun from it has another history
		}
	}
	if code, stdout, _ := call("checkpoints", "list", file); code != ExitOK || !strings.Contains(stdout, "no: 1 of its") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
	// Of a name nobody knows the storage.
	if code, stdout, _ := call("checkpoints", "list", "sums", "--brokers", b); code != ExitOK || !strings.Contains(stdout, "? where its files are is not known") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
	if l := list(append(asFiles, "--set", "checkpoint.storage="+filepath.Join(t.TempDir(), "none"))...); l[0].Restorable {
		t.Errorf("without a storage checkpoint %d is restorable", l[0].Checkpoint)
	}
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/web"
)

// A savepoint that is not whole is noticed before it is needed, and a start from it does not end the job that runs.
func TestADamagedSavepointIsFoundBeforeAnybodyIsDisturbed(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file, "--set", "checkpoint.retained=20", "--set", "checkpoint.inline_threshold=1B")
	produce(t, b, "numbers", `{"key":"a","n":1}`, `{"key":"b","n":2}`)
	j.until("results", func() bool { return len(totals(t, b)) == 2 })
	dir := filepath.Join(t.TempDir(), "savepoint")
	if err := (&web.Client{Address: j.address}).Savepoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	old := status(t, j).Checkpoint
	attempt := status(t, j).Attempt
	deltas, err := filepath.Glob(filepath.Join(dir, "*.delta"))
	if err != nil || len(deltas) == 0 {
		t.Fatalf("%v, %v", deltas, err)
	}
	name := filepath.Base(deltas[0])
	content, err := os.ReadFile(deltas[0])
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what, from, file string, says ...string) {
		t.Helper()
		for _, args := range [][]string{{"savepoint", "validate", from, file}, {"run", file, "--from", from, "--address", "off"}} {
			code, _, stderr := call(args...)
			for _, want := range says {
				if code != ExitRestore || !strings.Contains(stderr, want) {
					t.Errorf("%s: %v: exit code %d: %s\ndoes not say %q", what, args, code, stderr, want)
				}
			}
		}
		if st := status(t, j); st.Attempt != attempt || st.Restarts != 0 {
			t.Fatalf("%s: the job was disturbed: %+v", what, st)
		}
	}
	flipped := []byte(string(content))
	flipped[len(flipped)/2] ^= 1
	for what, now := range map[string][]byte{"changed": flipped, "cut": content[:len(content)-1]} {
		if err := os.WriteFile(deltas[0], now, 0o644); err != nil {
			t.Fatal(err)
		}
		refused(what, dir, file, name, "corrupt")
	}
	if err := os.Remove(deltas[0]); err != nil {
		t.Fatal(err)
	}
	refused("deleted", dir, file, name, "savepoint ")
	if code, stdout, stderr := call("savepoint", "validate", dir, file, "--drop-state", "sum"); code != ExitOK {
		t.Errorf("what is dropped needs no file: exit code %d: %s%s", code, stdout, stderr)
	}

	// The first start of another job leaves nothing behind.
	none := filepath.Join(t.TempDir(), "none")
	says(t, ExitRestore, name, "run", file, "--from", dir, "--address", "off", "--set", "job=others", "--set", "checkpoint.storage="+none)
	if _, err := os.Stat(none); err == nil {
		t.Error("a directory was made")
	}

	own, err := filepath.Glob(filepath.Join(filepath.Dir(file), "state/sums/0/*/*.delta"))
	if err != nil || len(own) == 0 {
		t.Fatalf("%v, %v", own, err)
	}
	produce(t, b, "numbers", `{"key":"a","n":3}`)
	j.until("a result", func() bool { return len(totals(t, b)) == 3 })
	if err := os.Remove(own[0]); err != nil {
		t.Fatal(err)
	}
	refused("a checkpoint", fmt.Sprint("checkpoint:", old), file, filepath.Base(own[0]))
	j.stop()
}

// A source under another name reads its topic again, into state that has it already: validate counts that.
func TestWhatASourceUnderAnotherNameReadsAgainIsCounted(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file)
	produce(t, b, "numbers", `{"key":"a","n":1}`, `{"key":"b","n":2}`)
	j.until("results", func() bool { return len(totals(t, b)) == 2 })
	dir := j.savepoint(filepath.Join(t.TempDir(), "savepoint"))
	j.stop()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(filepath.Dir(file), "renamed.yaml")
	if err := os.WriteFile(renamed, []byte(strings.Replace(string(text), "  in: {topics", "  input: {topics", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	says(t, ExitRestore, "savepoint rewrite --rename in=NEW makes a savepoint that keeps it; --drop-state in drops its offsets", "savepoint", "validate", dir, renamed)
	stdout := says(t, ExitOK, "read before by a source that is gone", "savepoint", "validate", dir, renamed, "--drop-state", "in")
	for _, want := range []string{
		`source "input" reads topic numbers from where its start says, so that records are read again`, "also into state that is kept and has them already",
		"of what it has read, 2 offsets would be read again",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s\ndoes not say %q", stdout, want)
		}
	}
	// With the name taken along, nothing is read again.
	kept := filepath.Join(t.TempDir(), "kept")
	says(t, ExitOK, "nothing was written", "savepoint", "rewrite", dir, "--rename", "in=input", "--to", kept, "--dry-run")
	if _, err := os.Stat(kept); err == nil {
		t.Error("a dry run has written something")
	}
	says(t, ExitOK, "written", "savepoint", "rewrite", dir, "--rename", "in=input", "--to", kept)
	says(t, ExitOK, "of what it has read, 0 offsets would be read again", "savepoint", "validate", kept, renamed)

	// Once begun from, and of another job.
	r := start(t, file, "--from", dir)
	r.stop()
	stdout = says(t, ExitOK, "the job has begun from it already", "savepoint", "validate", dir, file)
	if strings.Contains(stdout, "\na new lineage begins") {
		t.Error(stdout)
	}
	says(t, ExitOK, "of another job, sums", "savepoint", "validate", dir, file, "--set", "job=others", "--set", "checkpoint.storage="+filepath.Join(t.TempDir(), "none"))
	says(t, ExitRestore, "--on-incompatible drop:nope: nothing is called so", "savepoint", "validate", dir, file, "--on-incompatible", "drop:nope")
	code, _, stderr := call("savepoint", "rewrite", dir, "--dry-run", "--set-offset", "numbers=1", "--drop-state", "in")
	if code != ExitUsage || !strings.HasPrefix(stderr, "processor: savepoint rewrite: set-offset in:numbers/0: drop-state in drops that offset") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

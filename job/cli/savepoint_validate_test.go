package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/web"
	"github.com/weirstream/weir/job"
)

// Before the job that runs is stopped: what a changed job would do with its savepoint (C42).
func TestASavepointIsComparedWithAJobBeforeTheOldOneIsStopped(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file)
	produce(t, b, "numbers", `{"key":"a","n":1}`, `{"key":"b","n":2}`)
	j.until("results", func() bool { return len(totals(t, b)) == 2 })
	dir := filepath.Join(t.TempDir(), "savepoint")
	if err := (&web.Client{Address: j.address}).Savepoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	produce(t, b, "numbers", `{"key":"a","n":3}`, `{"key":"a","n":4}`, `{"key":"a","n":5}`)
	j.until("results", func() bool { return len(totals(t, b)) == 5 })
	attempt := status(t, j).Attempt

	check := func(want int, args ...string) (job.Fit, string) {
		t.Helper()
		var f job.Fit
		code, stdout, stderr := call(append([]string{"savepoint", "validate", "--json", dir}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &f); err != nil || code != want || f.Fits != (want == 0) {
			t.Fatalf("exit code %d, want %d: %v: %s%s", code, want, err, stdout, stderr)
		}
		return f, stderr
	}
	f, _ := check(ExitOK, file)
	var again, read int64
	for _, s := range f.Splits {
		again, read = again+s.Again, read+s.End-s.Offset
	}
	if len(f.States) != 1 || f.States[0].Outcome != "restored" || again != 3 || read != 3 || f.Last == nil || !f.Last.Same || f.Last.Since < 1 {
		t.Errorf("again %d, to read %d: %+v", again, read, f)
	}
	if len(f.Output) != 1 || f.Output[0].Offsets < 3 {
		t.Errorf("output %+v", f.Output)
	}
	code, stdout, stderr := call("savepoint", "validate", dir, file)
	for _, want := range []string{"fits job sums", "restored", "3 offsets would be read again", "topic totals: "} {
		if code != ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d: %s\n%s\ndoes not say %q", code, stderr, stdout, want)
		}
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(filepath.Dir(file), "changed.yaml")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), "{name: sum, aggregate: {total: sum(n)}}", "{name: total, aggregate: {total: sum(n)}}", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	f, stderr = check(ExitRestore, changed)
	if len(f.States) != 2 || f.States[0].Outcome != runtime.Incompatible || f.States[1].Outcome != runtime.BeginsEmpty || !strings.Contains(stderr, "--drop-state sum drops") {
		t.Errorf("%+v: %s", f.States, stderr)
	}
	if f, _ = check(ExitOK, changed, "--drop-state", "sum"); f.States[0].Outcome != "dropped" {
		t.Errorf("%+v", f.States)
	}
	if f, _ = check(ExitOK, changed, "--on-incompatible", "drop:sum"); f.States[0].Outcome != "dropped" {
		t.Errorf("%+v", f.States)
	}
	check(ExitRestore, changed, "--drop-state", "sums")
	if code, stdout, stderr := call("savepoint", "validate", fmt.Sprint("checkpoint:", f.Last.Checkpoint), file); code != ExitOK || !strings.Contains(stdout, "nothing was committed after the savepoint") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}

	for _, args := range [][]string{{}, {dir}, {dir, file, "more"}, {dir, file, "--on-incompatible", "all"}, {dir, file, "--drop-state", "/x"}} {
		if code, _, stderr := call(append([]string{"savepoint", "validate"}, args...)...); code != ExitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	if code, _, stderr := call("savepoint", "validate", filepath.Join(dir, "none"), file); code != ExitRestore {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := call("run", changed, "--address", "off"); code != ExitRestore {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if st := status(t, j); st.Attempt != attempt || st.Restarts != 0 {
		t.Errorf("the job was disturbed: %+v", st)
	}
	j.stop()
}

func status(t *testing.T, j *running) web.Status {
	t.Helper()
	st, err := (&web.Client{Address: j.address}).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// What a start begins from is the first thing that it says, whatever it is (C41).
func TestAStartSaysWhatItBeginsFrom(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	dir := filepath.Join(t.TempDir(), "savepoint")
	for i, c := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"first start: the job has no checkpoint"}},
		{nil, []string{"continues from checkpoint ", " s old) of lineage "}},
		{[]string{"--from", dir}, []string{"a new lineage begins from savepoint ", "it goes back by "}},
		{[]string{"--from", dir}, []string{"continues from checkpoint ", ", which began with --from this savepoint (--again begins anew)"}},
		{[]string{"--fresh"}, []string{"begins empty, as asked for; leaves behind checkpoint ", "stays until another lineage begins; --from checkpoint:"}},
		{[]string{"--fresh", "--offsets-from", dir}, []string{"a new lineage begins with empty state and with the offsets of savepoint "}},
		{[]string{"--drop-state", "sum"}, []string{"continues from checkpoint ", `operator \"sum\": state `, "is dropped"}},
		{[]string{"--drop-state", "sum"}, []string{"continues from checkpoint ", "; --drop-state sum was carried out before"}},
	} {
		j := start(t, append([]string{file}, c.args...)...)
		for _, says := range c.says {
			if !strings.Contains(j.err.String(), says) {
				t.Errorf("%v does not say %q:\n%s", c.args, says, j.err.String())
			}
		}
		if i == 0 {
			if err := (&web.Client{Address: j.address}).Savepoint(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
		}
		j.stop()
	}
}

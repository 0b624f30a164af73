package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// State that was gathered under other keys is not gone on with.
func TestAChangedKeyIsNoticed(t *testing.T) {
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
	keyed := func(by string) string {
		t.Helper()
		path := filepath.Join(filepath.Dir(file), "keyed.yaml")
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), "key_by: key}", "key_by: "+by+"}", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const finding = `operator "sum": its keys were key string and are key string, n int: state of other keys would mix (--drop-state sum drops accumulator; `
	says(t, ExitRestore, finding, "savepoint", "validate", dir, keyed("[key, n]"))
	says(t, ExitRestore, finding, "run", keyed("[key, n]"), "--address", "off")
	says(t, ExitRestore, "does not fit", "savepoint", "validate", dir, keyed("n"))
	says(t, ExitOK, "dropped", "savepoint", "validate", dir, keyed("n"), "--drop-state", "sum")
	says(t, ExitOK, "restored", "savepoint", "validate", dir, keyed("[key]"))
	says(t, ExitOK, "restored", "savepoint", "validate", dir, keyed("{who: key}"))
	more := filepath.Join(filepath.Dir(file), "more.yaml")
	if err := os.WriteFile(more, []byte(strings.Replace(string(text), "{total: sum(n)}", "{total: sum(n), records: count()}", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	says(t, ExitOK, "restored (new, begin empty: records)", "savepoint", "validate", dir, more)
	// Written in another way, it is for the user to say that it is the same.
	says(t, ExitRestore, "savepoint rewrite --accept-keys sum", "savepoint", "validate", dir, keyed("{who: lower(key)}"))
	kept := filepath.Join(t.TempDir(), "kept")
	says(t, ExitOK, "a start does not compare them", "savepoint", "rewrite", dir, "--to", kept, "--accept-keys", "sum")
	says(t, ExitOK, "restored", "savepoint", "validate", kept, keyed("{who: lower(key)}"))
}

// A lineage that begins elsewhere says how much of what was read before it reads again, and a policy that throws state away is
// no small print.
func TestAStartSaysWhatItReadsAgain(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file)
	inOrder(t, b, sum("a", 1), sum("b", 2))
	j.until("results", func() bool { return len(totals(t, b)) == 2 })
	dir := j.savepoint(filepath.Join(t.TempDir(), "savepoint"))
	inOrder(t, b, sum("c", 3))
	j.until("a result", func() bool { return len(totals(t, b)) == 3 })
	j.stop()

	j = start(t, file, "--fresh")
	j.until("results", func() bool { return len(totals(t, b)) == 6 })
	j.stop()
	for _, want := range []string{"level=WARN", "had read are read again, and their results written a second time", "up to 3 input records that checkpoint "} {
		if !strings.Contains(j.err.String(), want) {
			t.Errorf("does not say %q:\n%s", want, j.err.String())
		}
	}
	j = start(t, file, "--from", dir) // of the lineage before
	j.until("a result", func() bool { return len(totals(t, b)) == 7 })
	j.stop()
	if !strings.Contains(j.err.String(), "up to 1 input records that checkpoint ") {
		t.Error(j.err.String())
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "{name: sum,", "{name: total,", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	j = start(t, file, "--on-incompatible", "fresh")
	j.until("results", func() bool { return len(totals(t, b)) == 10 })
	j.stop()
	if !strings.Contains(j.err.String(), `level=WARN msg="begins empty, as --on-incompatible=fresh says`) {
		t.Error(j.err.String())
	}
}

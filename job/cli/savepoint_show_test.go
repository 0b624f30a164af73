package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirstream/weir/internal/savepoint"
)

// twoSavepoints are of a job that counts and makes windows, with a few records between them.
func twoSavepoints(t *testing.T, b string) (file, first, second string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "visits.yaml")
	err := os.WriteFile(file, fmt.Appendf(nil, `job: visits
kafka:
  brokers: ["%s"]
checkpoint:
  interval: 20ms
  storage: %s
  local_dir: %s
source:
  in: {topics: [visits], fields: {key: string, n: int, at: timestamp}}
operators:
  - {name: times, event_time: {field: at, bound: 1s}}
  - {name: by-key, key_by: key}
  - {name: sum, aggregate: {total: sum(n), most: max(n)}}
  - {name: per-minute, input: by-key, aggregate: {total: sum(n)}, window: {tumbling: 1m}}
  - {name: visits, input: by-key, aggregate: {visits: count()}, window: {session: 30m}}
sink:
  out: {topic: totals, input: sum}
  minutes: {topic: totals, input: per-minute}
  sessions: {topic: totals, input: visits}
`, b, filepath.Join(dir, "state"), filepath.Join(dir, "local")), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	j := start(t, file)
	make := func(name string, results int, values ...string) string {
		produce(t, b, "visits", values...)
		j.until("the results", func() bool { return len(totals(t, b)) == results })
		path := filepath.Join(dir, name)
		if code, _, stderr := call("savepoint", "create", file, "--address", j.address, "--dir", path); code != ExitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return path
	}
	first = make("first", 3, `{"key":"AA","n":1,"at":"2026-01-01T00:00:05Z"}`, `{"key":"B","n":2,"at":"2026-01-01T00:00:06Z"}`, `{"key":"AA","n":3,"at":"2026-01-01T00:00:07Z"}`)
	second = make("second", 5, `{"key":"AA","n":-7,"at":"2026-01-01T00:00:08Z"}`, `{"key":"C","n":5,"at":"2026-01-01T00:00:09Z"}`)
	j.stop()
	return file, first, second
}

// Commands: any of processor's; see testdata/savepoint_look. $FIRST, $SECOND, $FILE and $BROKER stand for what they name.
func TestASavepointIsLookedInto(t *testing.T) {
	b := broker(t, kfake.SeedTopics(1, "visits"))
	file, first, second := twoSavepoints(t, b)
	produce(t, b, "visits", `{"key":"AA","n":1,"at":"2026-01-01T00:00:10Z"}`)
	names := strings.NewReplacer("$FIRST", first, "$SECOND", second, "$FILE", file, "$BROKER", b)
	back := strings.NewReplacer(first, "$FIRST", second, "$SECOND", file, "$FILE", b, "$BROKER")
	varies := []struct{ pattern, with string }{
		{`[0-9a-f]{64}`, "HASH"}, {`[0-9a-f]{8}-[0-9a-f-]{27}`, "UUID"}, {`lineage [0-9a-f]{8}\b`, "lineage UUID"}, {`checkpoint \d+`, "checkpoint N"},
		{`, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\n`, ", TIME\n"}, {`older than A by .*`, "older than A by AGE"}, {`on host .*`, "on host HOST"}, {`, \d+ files? of .*`, ", N files of SIZE"}, {`(?m)^(FILE|HASH|manifest\.json).*\n`, ""},
	}
	datadriven.RunTest(t, "testdata/savepoint_look", func(t *testing.T, d *datadriven.TestData) string {
		args := strings.Fields(names.Replace(strings.TrimSpace(d.Input)))
		code, stdout, stderr := call(append([]string{"savepoint"}, args...)...)
		out := back.Replace(stdout + stderr)
		for _, v := range varies {
			out = regexp.MustCompile(v.pattern).ReplaceAllString(out, v.with)
		}
		if code != ExitOK {
			out += fmt.Sprintf("exit code %d\n", code)
		}
		return out
	})
}

func TestASavepointIsLookedIntoByPrograms(t *testing.T) {
	b := broker(t, kfake.SeedTopics(1, "visits"))
	file, first, second := twoSavepoints(t, b)
	run := func(v any, args ...string) {
		t.Helper()
		code, stdout, stderr := call(append(append([]string{"savepoint"}, args...), "--output", "json")...)
		if code != ExitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), v); err != nil {
			t.Fatalf("%v: %v: %s", args, err, stdout)
		}
	}
	var shown struct {
		savepoint.Report
		Behind []splitBehind
	}
	run(&shown, "show", first, "--job", file)
	i := slices.IndexFunc(shown.Operators, func(o savepoint.OperatorReport) bool { return o.Name == "sum" })
	if i < 0 || len(shown.Operators[i].States) != 1 || shown.Operators[i].States[0].Keys != 2 || shown.Operators[i].States[0].Largest[0].Key != "AA" {
		t.Errorf("%+v", shown.Operators)
	}
	if shown.Job != "visits" || len(shown.Behind) != 1 || *shown.Behind[0].Records != 2 || shown.Sources[0].Splits[0].Offset != 3 {
		t.Errorf("%+v", shown)
	}
	var listed savepoint.Listing
	run(&listed, "show", second, "--keys", "sum", "--key", "AA")
	if listed.Operator != "sum" || len(listed.Entries) != 1 || listed.Entries[0].Value != "total=-3, most=3" || listed.More {
		t.Errorf("%+v", listed)
	}
	var d savepoint.Difference
	run(&d, "diff", first, second)
	if i := slices.IndexFunc(d.Operators, func(o savepoint.OperatorChange) bool { return o.Name == "sum" }); i < 0 || d.Operators[i].States[0].Added != 1 || d.Splits[0].Records != 2 {
		t.Errorf("%+v", d)
	}
}

func TestASavepointWithADamagedFileIsNotShown(t *testing.T) {
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
	found, err := filepath.Glob(filepath.Join(dir, "*.delta"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(found[0], content, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"show", dir}, {"show", dir, "--keys", "sum"}, {"diff", dir, dir}} {
		code, stdout, stderr := call(append([]string{"savepoint"}, args...)...)
		if code != ExitRestore || stdout != "" || !strings.Contains(stderr, filepath.Base(found[0])) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d: %s%s", args, code, stdout, stderr)
		}
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, args := range [][]string{{"show", nowhere}, {"diff", dir, nowhere}, {"show", t.TempDir()}} {
		if code, _, stderr := call(append([]string{"savepoint"}, args...)...); code != ExitRestore {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("looking for a savepoint makes its directory")
	}
}

// A savepoint has as many files, and as many bytes, whichever command is asked: those that are in its directory.
func TestFilesOfASavepointAreCountedAlike(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", sum("a", 1))
	j := start(t, file)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	dir := t.TempDir()
	a := j.savepoint(filepath.Join(dir, "a"))
	j.stop()
	entries, err := os.ReadDir(a)
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	listed := fromJSON[[]savepoint.Listed](t, "savepoint", "list", dir)
	shown := fromJSON[savepoint.Report](t, "savepoint", "show", a)
	copied := fromJSON[savepoint.Copied](t, "savepoint", "copy", a, filepath.Join(dir, "b"))
	if n := len(entries); listed[0].Files != n || len(shown.Files) != n || copied.Files != n {
		t.Errorf("%d files: list says %d, show %d, copy %d", n, listed[0].Files, len(shown.Files), copied.Files)
	}
	if listed[0].Size != bytes || shown.Bytes != bytes || copied.Size != bytes {
		t.Errorf("%d bytes: list says %d, show %d, copy %d", bytes, listed[0].Size, shown.Bytes, copied.Size)
	}
}

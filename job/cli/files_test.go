package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
)

// says runs a command and expects an exit code and a text in its output.
func says(t *testing.T, code int, text string, args ...string) string {
	t.Helper()
	got, stdout, stderr := call(args...)
	if got != code || !strings.Contains(stdout+stderr, text) {
		t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", strings.Join(args, " "), got, code, text, stdout, stderr)
	}
	return stdout
}

// fromJSON runs a command with --json.
func fromJSON[T any](t *testing.T, args ...string) (out T) {
	t.Helper()
	code, stdout, stderr := call(append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != ExitOK {
		t.Fatalf("%s: exit code %d, %v: %s%s", strings.Join(args, " "), code, err, stdout, stderr)
	}
	return out
}

// savepointOf takes a savepoint of a running job.
func (r *running) savepoint(dir string) string {
	r.t.Helper()
	says(r.t, ExitOK, dir, "savepoint", "create", "sums", "--address", r.address, "--dir", dir)
	return dir
}

// inOrder writes values to one partition of numbers, so that they are read in this order whenever they are.
func inOrder(t *testing.T, broker string, values ...string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, v := range values {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "numbers", Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func sum(key string, n int) string { return fmt.Sprintf(`{"key":%q,"n":%d}`, key, n) }

// C24: offsets move, and what state is kept or dropped is the user's choice. C17: what was made of a savepoint has another ID, so a
// job that began from the one begins from the other.
func TestAJobGoesOnFromARewrittenSavepoint(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	dir := t.TempDir()
	inOrder(t, b, sum("a", 1), sum("a", 2))
	j := start(t, file)
	j.until("results", func() bool { return len(totals(t, b)) == 2 })
	a := j.savepoint(filepath.Join(dir, "a"))
	j.stop()

	continued := func(from string, want ...string) {
		t.Helper()
		before := len(totals(t, b))
		j := start(t, file, "--from", from)
		j.until("results", func() bool { return len(totals(t, b)) >= before+len(want) })
		j.stop()
		if got := totals(t, b)[before:]; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: got %q, want %q", from, got, want)
		}
	}
	inOrder(t, b, sum("a", 10))
	continued(a, total(13))

	kept := filepath.Join(dir, "kept")
	says(t, ExitOK, "state that has these records already takes them again: sum/", "savepoint", "rewrite", a, "--to", kept, "--set-offset", "numbers=earliest", "--brokers", b)
	continued(kept, total(4), total(6), total(16))

	dropped := filepath.Join(dir, "dropped")
	says(t, ExitOK, "is dropped", "savepoint", "rewrite", a, "--to", dropped, "--set-offset", "numbers=earliest", "--job", file, "--drop-state", "sum")
	continued(dropped, total(1), total(3), total(13))
	// Again with the same flags: it is this savepoint that it began from.
	before := len(totals(t, b))
	start(t, file, "--from", dropped).stop()
	if after := len(totals(t, b)); after != before {
		t.Errorf("%d results were written again", after-before)
	}

	skipped := filepath.Join(dir, "skipped")
	out := fromJSON[struct {
		ID      string
		Effects []checkpoint.Effect
		Written struct{ Location string }
	}](t, "savepoint", "rewrite", a, "--to", skipped, "--set-offset", "numbers=latest", "--brokers", b)
	skips := int64(0)
	for _, e := range out.Effects {
		if e.Kind == checkpoint.EffectSkip {
			skips += e.Split.Records
		}
	}
	if skips != 1 || out.Written.Location != skipped {
		t.Errorf("%+v", out)
	}
	inOrder(t, b, sum("a", 100))
	continued(skipped, total(103))

	renamed := filepath.Join(dir, "renamed")
	says(t, ExitOK, `operator "sum" is "total" now`, "savepoint", "rewrite", a, "--to", renamed, "--rename", "sum=total")
	// Two may change places, in one flag or in two; what is dropped gives its name away.
	says(t, ExitOK, `operator "sum" is "by-key" now`, "savepoint", "rewrite", a, "--dry-run", "--rename", "sum=by-key,by-key=sum")
	says(t, ExitOK, `operator "by-key" is "sum" now`, "savepoint", "rewrite", a, "--dry-run", "--rename", "sum=by-key", "--rename", "by-key=sum")
	says(t, ExitOK, `operator "by-key" is "sum" now`, "savepoint", "rewrite", a, "--dry-run", "--drop-state", "sum", "--rename", "by-key=sum")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "name: sum,", "name: total,", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call("run", file, "--from", a, "--address", "off")
	if code != ExitRestore {
		t.Errorf("the state of an operator that is not there any more: exit code %d: %s", code, stderr)
	}
	continued(renamed, total(13), total(113))

	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{a, "--to", kept, "--set-offset", "numbers/0=7", "--set-offset", "numbers/9=0", "--drop-state", "x", "--brokers", b}, ExitUsage, "drop-state x: there is no such state"},
		{[]string{a, "--to", filepath.Join(dir, "n"), "--set-offset", "numbers/0=7000", "--brokers", b}, ExitUsage, "the log ends at"},
		{[]string{a, "--to", filepath.Join(dir, "n"), "--set-offset", "numbers=latest"}, ExitUsage, "give --brokers"},
		{[]string{a, "--to", kept, "--drop-state", "sum"}, ExitOther, "there is another savepoint already"},
		{[]string{a, "--to", kept}, ExitUsage, "there is nothing to change"},
		{[]string{a, "--drop-state", "sum"}, ExitUsage, "give --to DIRECTORY, or --dry-run"},
		{[]string{a, "--drop-state", "sum", "--dry-run"}, ExitOK, "nothing was written"},
		{[]string{filepath.Join(dir, "none"), "--drop-state", "sum", "--dry-run"}, ExitRestore, "there is no such directory"},
	} {
		says(t, c.code, c.says, append([]string{"savepoint", "rewrite"}, c.args...)...)
	}
	if _, err := os.Stat(filepath.Join(dir, "n")); err == nil {
		t.Error("what was refused has made a directory")
	}
}

func total(n int) string { return fmt.Sprintf(`{"key":"a","total":%d}`, n) }

func TestSavepointsAreListedCopiedAndDeleted(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	dir := t.TempDir()
	produce(t, b, "numbers", sum("a", 1))
	j := start(t, file)
	j.until("results", func() bool { return len(totals(t, b)) == 1 })
	a := j.savepoint(filepath.Join(dir, "a"))
	j.stop()
	copied := filepath.Join(dir, "deep", "copy")
	says(t, ExitOK, copied, "savepoint", "copy", a, copied)
	says(t, ExitOK, copied, "savepoint", "copy", a, copied)
	listed := fromJSON[[]struct {
		Location, ID string
		Whole        bool
	}](t, "savepoint", "list", dir)
	if len(listed) != 2 || listed[0].ID != listed[1].ID || !listed[0].Whole || !listed[1].Whole {
		t.Errorf("%+v", listed)
	}
	says(t, ExitOK, copied, "savepoint", "list", dir)
	says(t, ExitUsage, "nothing was deleted: there is no terminal to ask on", "savepoint", "delete", a)
	says(t, ExitOK, "deleted savepoint "+a, "savepoint", "delete", a, "--yes")
	says(t, ExitRestore, "no such directory", "savepoint", "delete", a, "--yes")
	says(t, ExitRestore, "is not a savepoint", "savepoint", "delete", filepath.Dir(file), "--yes")
	produce(t, b, "numbers", sum("a", 5))
	j = start(t, file, "--from", copied)
	j.until("results", func() bool { return len(totals(t, b)) == 2 })
	j.stop()
	t.Chdir(dir)
	says(t, ExitRestore, "savepoints in savepoints: there is no such directory", "savepoint", "list")
	says(t, ExitOK, "copy", "savepoint", "list", ".")
	if err := os.Mkdir("savepoints", 0o755); err != nil {
		t.Fatal(err)
	}
	says(t, ExitOK, "there is no savepoint in savepoints", "savepoint", "list")
}

// trim deletes all records of a topic of one partition but the last two: one and its transaction's marker.
func trim(t *testing.T, broker, topic string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ends, err := adm.ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	at := kadm.Offsets{}
	at.Add(kadm.Offset{Topic: topic, At: end.Offset - 2})
	if _, err := adm.DeleteRecords(t.Context(), at); err != nil {
		t.Fatal(err)
	}
}

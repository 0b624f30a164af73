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

// C24: a plain consumer's offsets are set to those of a savepoint; a job's are in its pointers, and it says so.
func TestOffsetsOfAGroupAreResetToASavepoint(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	dir := t.TempDir()
	produce(t, b, "numbers", sum("a", 1), sum("b", 2), sum("c", 3))
	j := start(t, file, "--set", "checkpoint.group=readers")
	j.until("results", func() bool { return len(totals(t, b)) == 3 })
	a := j.savepoint(filepath.Join(dir, "a"))
	produce(t, b, "numbers", sum("a", 4))
	j.until("results", func() bool { return len(totals(t, b)) == 4 })
	j.stop()

	type row struct {
		Partition       int32
		Committed, Lag  int64
		Checkpoint      *int64
		Before, After   int64
		Topic, Metadata string
	}
	type shown struct {
		Group, Job string
		Members    []any
		Offsets    []row
	}
	for _, args := range [][]string{{file, "--set", "checkpoint.group=readers"}, {"readers", "--brokers", b}} {
		of := fromJSON[shown](t, append([]string{"offsets", "show"}, args...)...)
		if of.Job != "sums" || of.Group != "readers" || len(of.Offsets) != 2 {
			t.Fatalf("%+v", of)
		}
		read := int64(0)
		for _, r := range of.Offsets {
			if r.Checkpoint == nil || *r.Checkpoint != r.Committed || r.Lag != 0 {
				t.Errorf("%+v", r)
			}
			read += r.Committed
		}
		if read != 4 {
			t.Errorf("%d records were read", read)
		}
	}
	says(t, ExitOK, "job sums, checkpoint", "offsets", "show", "readers", "--brokers", b)
	says(t, ExitOther, "group nobody has committed no offset", "offsets", "show", "nobody", "--brokers", b)

	adm := admin(t, b)
	var others kadm.Offsets
	others.Add(kadm.Offset{Topic: "numbers", Partition: 0, At: 1, LeaderEpoch: -1})
	others.Add(kadm.Offset{Topic: "numbers", Partition: 1, At: 0, LeaderEpoch: -1})
	if _, err := adm.CommitOffsets(t.Context(), "others", others); err != nil {
		t.Fatal(err)
	}
	// The topic has other records after a reset of a job is refused; it names what does it.
	for _, c := range []struct{ group, says string }{
		{"readers", "group readers is that of the Weir job sums (it commits for topic weir.sums.checkpoints)"},
		{"sums", "the savepoint is of that job"},
		{"", "run JOB --from " + a},
	} {
		args := []string{"offsets", "reset", "--to", a, "--brokers", b, "--execute"}
		if c.group != "" {
			args = append(args, "--group", c.group)
		}
		says(t, ExitOther, c.says, args...)
	}
	reset := []string{"offsets", "reset", "--to", a, "--group", "others", "--brokers", b}
	says(t, ExitOK, "nothing was done: --execute sets them", reset...)
	plan := fromJSON[shown](t, reset...)
	at := func() int64 {
		t.Helper()
		n := int64(0)
		for _, r := range fromJSON[shown](t, "offsets", "show", "others", "--brokers", b).Offsets {
			n += r.Committed
		}
		return n
	}
	if n := at(); n != 1 {
		t.Errorf("a dry run has set offsets: %d", n)
	}

	member, err := kgo.NewClient(kgo.SeedBrokers(b), kgo.ConsumerGroup("others"), kgo.ConsumeTopics("numbers"), kgo.ClientID("busy"), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	member.PollFetches(t.Context())
	says(t, ExitOther, "(client busy on ", append(reset, "--execute")...)
	member.Close()
	(&running{t: t, code: make(chan int)}).until("the member to be gone", func() bool {
		return len(fromJSON[shown](t, "offsets", "show", "others", "--brokers", b).Members) == 0
	})
	says(t, ExitOK, "group others has these offsets now", append(reset, "--execute")...)
	want := int64(0)
	for _, r := range plan.Offsets {
		want += r.After
	}
	if n := at(); n != want || want != 3 {
		t.Errorf("the offsets are %d, planned %d", n, want)
	}
	says(t, ExitUsage, "--source nothing: the savepoint has no such source", append(reset, "--source", "nothing")...)
	says(t, ExitUsage, "--to SAVEPOINT is missing", "offsets", "reset", "--group", "others", "--brokers", b)
	says(t, ExitUsage, "--brokers is missing", "offsets", "reset", "--group", "others", "--to", a)
}

// What a killed process and other attempts have left goes, and nothing that a checkpoint needs, whether the job runs or not.
func TestGarbageIsCollectedBesideTheJob(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	asFiles := []string{file, "--set", "checkpoint.inline_threshold=1B", "--set", "checkpoint.retained=3"}
	storage := filepath.Join(filepath.Dir(file), "state")
	gc := func(more ...string) collected {
		t.Helper()
		return fromJSON[collected](t, append(append([]string{"checkpoints", "gc"}, asFiles...), more...)...)
	}
	garbage := func(attempt string, upload int64) string {
		t.Helper()
		name := checkpoint.FileName("sums", 0, attempt, upload, checkpoint.Hash{byte(upload)}, "delta")
		path := filepath.Join(storage, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("garbage"), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	says(t, ExitOther, "has no checkpoints", "checkpoints", "gc", file)
	for round := range 3 {
		j := start(t, asFiles...)
		for n := range 3 {
			produce(t, b, "numbers", sum("a", n))
			j.until("a result", func() bool { return len(totals(t, b)) == 3*round+n+1 })
		}
		dead, next := garbage("of-nobody-known", 1), garbage("of-one-that-recovers", 1_000_000)
		if c := gc("--grace", "0s", "--dry-run"); len(c.Deleted) != 1 || c.Deleted[0] != dead || !c.DryRun {
			t.Errorf("%+v", c)
		}
		if c := gc(); len(c.Deleted) != 0 || c.Young != 1 {
			t.Errorf("within the grace period: %+v", c)
		}
		if c := gc("--grace", "0s"); len(c.Deleted) != 1 || c.Deleted[0] != dead || c.Running == 0 || c.Listed == 0 {
			t.Errorf("%+v", c)
		}
		if tree := tree(t, storage); strings.Contains(tree, "of-nobody-known/1-") || !strings.Contains(tree, filepath.Base(next)) {
			t.Errorf("%s", tree)
		}
		j.stop()
		gc("--grace", "0s")
		for i, l := range fromJSON[[]struct {
			Checkpoint int64
			Restorable bool
			Lacks      string
		}](t, append([]string{"checkpoints", "list"}, asFiles...)...) {
			if i < 3 && !l.Restorable {
				t.Errorf("checkpoint %d lacks %s", l.Checkpoint, l.Lacks)
			}
		}
	}
	if got := totals(t, b); len(got) != 9 || got[8] != total(9) {
		t.Errorf("%q", got)
	}
	says(t, ExitUsage, "name the job's file, not its name", "checkpoints", "gc", "sums", "--brokers", b)

	// Whose files they are cannot be told where another job has the name too.
	other := start(t, append(asFiles, "--set", "checkpoint.prefix=other", "--set", "checkpoint.group=other", "--set", "checkpoint.storage="+t.TempDir())...)
	says(t, ExitOther, "topic other.sums.checkpoints is that of another job called sums", append([]string{"checkpoints", "gc"}, asFiles...)...)
	other.stop()
}

// What a lineage has left behind is listed, shown and kept, until it is given up; a start does not stumble over that.
func TestWhatIsLeftBehindStaysUntilItIsGivenUp(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	asFiles := []string{file, "--set", "checkpoint.inline_threshold=1B"}
	with := func(args ...string) []string { return append(args, asFiles...) }
	type listed struct {
		Checkpoint int64
		Restorable bool
		Lacks      string
		Left       bool `json:"left_behind"`
	}
	left := func() (out []listed) {
		t.Helper()
		for _, l := range fromJSON[[]listed](t, with("checkpoints", "list")...) {
			if l.Left {
				out = append(out, l)
			}
		}
		return out
	}
	j := start(t, asFiles...)
	produce(t, b, "numbers", sum("a", 0))
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	j.stop()
	says(t, ExitOther, "has left no checkpoint behind", with("checkpoints", "gc", "--left")...)
	newest := fromJSON[[]listed](t, with("checkpoints", "list")...)[0].Checkpoint

	j = start(t, append(asFiles, "--fresh")...)
	for n := range 5 {
		produce(t, b, "numbers", sum("a", n))
		j.until("a result", func() bool { return len(totals(t, b)) == n+3 })
	}
	for _, trimmed := range []bool{false, true} {
		if trimmed { // as the job does every 10 seconds
			trim(t, b, "weir.sums.checkpoints")
		}
		if got := left(); len(got) != 1 || got[0].Checkpoint != newest || !got[0].Restorable {
			t.Errorf("left behind: %+v, want checkpoint %d", got, newest)
		}
	}
	if c := fromJSON[collected](t, with("checkpoints", "gc", "--grace", "0s")...); len(c.Deleted) != 0 {
		t.Errorf("%+v", c)
	}
	if got := fromJSON[checkpoint.Pointer](t, append(with("checkpoints", "show"), fmt.Sprint(newest))...); got.Checkpoint != newest {
		t.Errorf("%+v", got)
	}
	if c := fromJSON[collected](t, with("checkpoints", "gc", "--left", "--dry-run", "--grace", "0s")...); len(c.Deleted) < 2 || len(left()) != 1 {
		t.Errorf("%+v", c)
	}
	if c := fromJSON[collected](t, with("checkpoints", "gc", "--left", "--grace", "0s")...); len(c.Deleted) < 2 {
		t.Errorf("%+v", c)
	}
	if got := left(); len(got) != 1 || got[0].Restorable || got[0].Lacks != "its pointer is not there" {
		t.Errorf("given up: %+v", got)
	}
	j.stop()
	j = start(t, asFiles...)
	produce(t, b, "numbers", sum("a", 5))
	j.until("a result", func() bool { return len(totals(t, b)) == 8 })
	j.stop()
	if got := left(); len(got) != 0 {
		t.Errorf("after another start: %+v", got)
	}
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

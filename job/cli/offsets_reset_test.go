package cli

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

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

	member, err := kgo.NewClient(kgo.SeedBrokers(b), kgo.ConsumerGroup("others"), kgo.ConsumeTopics("numbers"), kgo.DisableFetchSessions(), kgo.ClientID("busy"), kgo.DisableAutoCommit())
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

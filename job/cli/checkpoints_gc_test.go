package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
)

// The layout has a number for shards. What the others have is collected by their own checkpoints, and left alone where there are
// none that say what is needed.
func TestGarbageOfEveryShardIsCollectedByItsOwnCheckpoints(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	storage := filepath.Join(filepath.Dir(file), "state")
	j := start(t, file)
	produce(t, b, "numbers", sum("a", 1))
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	j.stop()
	if _, err := admin(t, b).UpdatePartitions(t.Context(), 3, "weir.sums.checkpoints"); err != nil {
		t.Fatal(err)
	}
	put := func(shard int, attempt string, upload int64) string {
		t.Helper()
		name := checkpoint.FileName("sums", shard, attempt, upload, checkpoint.Hash{byte(upload)}, "delta")
		path := filepath.Join(storage, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	// Shard 1 has checkpoints, shard 2 none yet, and no partition is left for shard 3.
	needed := put(1, "own", 1)
	own := &checkpoint.Pointer{Job: "sums", Shard: 1, Shards: 2, Attempt: "own", Lineage: "l", KeyGroups: 128, Request: "start"}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for own.Checkpoint = 1; own.Checkpoint <= 3; own.Checkpoint++ {
		own.Deltas = []checkpoint.Delta{{First: 1, Checkpoint: 1, Size: 1, Hash: checkpoint.Hash{1}, File: &checkpoint.File{Name: needed, Size: 1, Hash: checkpoint.Hash{1}}, Offset: -1}}
		value, err := checkpoint.EncodePointer(own)
		if err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "weir.sums.checkpoints", Partition: 1, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	dead := []string{put(0, "dead", 1), put(1, "dead", 2)}
	put(2, "dead", 1)
	put(3, "dead", 1)
	gc := fromJSON[collected](t, "checkpoints", "gc", file, "--grace", "0s", "--dry-run")
	if !slices.Equal(gc.Deleted, dead) || gc.Running < 1 || gc.Foreign != 1 || gc.Listed < 1 {
		t.Errorf("would delete %q, want %q: %+v", gc.Deleted, dead, gc)
	}
	gc = fromJSON[collected](t, "checkpoints", "gc", file, "--grace", "0s")
	if !slices.Equal(gc.Deleted, dead) {
		t.Errorf("deleted %q, want %q", gc.Deleted, dead)
	}
	if _, err := os.Stat(filepath.Join(storage, filepath.FromSlash(needed))); err != nil {
		t.Errorf("what a checkpoint of shard 1 needs: %v", err)
	}
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

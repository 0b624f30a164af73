//go:build integration

package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// fileDamages are what can happen to a file in the storage, in the order in which files get them.
var fileDamages = []struct {
	name string
	do   func(path string, content []byte) error
}{
	{"truncated", func(path string, content []byte) error { return os.WriteFile(path, content[:len(content)/2], 0o644) }},
	{"one byte flipped", func(path string, content []byte) error {
		content[len(content)/2] ^= 1
		return os.WriteFile(path, content, 0o644)
	}},
	{"missing", func(path string, _ []byte) error { return os.Remove(path) }},
	{"swapped", func(path string, content []byte) error { return os.WriteFile(path, make([]byte, len(content)), 0o644) }},
	{"unreadable", func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) }},
}

var offered = regexp.MustCompile(`--from checkpoint:(\d+) goes back by \d+ checkpoints?: up to (\d+) input records are read again`)

// Each file of a real job's last checkpoint is damaged: the start names it, writes nothing and offers the checkpoint before
// that is whole. Going back to it repeats exactly the records that were announced, with the numbers that they had; a
// supervisor that repeats the flag does not go back again.
func TestADamagedCheckpointIsNamedAndGoneBackFrom(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 1", "base_after: 40KiB", "retained: 4"}
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 300}
	p := j.start(t)
	const records = 6000
	for i := int64(0); i < records; i += 500 {
		j.cluster.ProduceNumbers(t, j.in, numbers, i, i+500)
		j.waitForOutput(t, i+500, 60*time.Second)
	}
	p.Kill() // not stopped: its last checkpoint has changes
	pointers := j.cluster.Pointers(t, j.checkpointTopic())
	last := pointers[len(pointers)-1]
	before := j.results(t)
	if last.Base == nil {
		t.Error("the last checkpoint has no base")
	}

	var to, again int64
	for i, f := range last.AllFiles() {
		damage := fileDamages[i%len(fileDamages)]
		if f.Size == 0 {
			damage = fileDamages[2]
		}
		path := filepath.Join(j.dir, "state", f.Name)
		content, err := os.ReadFile(path)
		if err == nil {
			err = damage.do(path, append([]byte(nil), content...))
		}
		if err != nil {
			t.Fatal(err)
		}
		p := j.program(t, "--set", "checkpoint.local_dir="+t.TempDir()).Start(t)
		if code := p.Exit(60 * time.Second); code != cli.ExitRestore {
			t.Fatalf("%s %s: exit code %d, want %d:\n%s", f.Name, damage.name, code, cli.ExitRestore, p.Output())
		}
		oneLine(t, p, fmt.Sprint("restore: checkpoint ", last.Checkpoint), f.Name)
		if m := offered.FindStringSubmatch(p.Stderr()); m != nil {
			to, _ = strconv.ParseInt(m[1], 10, 64)
			again, _ = strconv.ParseInt(m[2], 10, 64)
		}
		if to > 0 && i == len(last.AllFiles())-1 {
			break // the last one, its own delta, stays damaged
		}
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if to == 0 {
		t.Fatal("nothing was offered")
	}
	if n := len(j.cluster.Pointers(t, j.checkpointTopic())); n != len(pointers) || j.results(t).Len() != records {
		t.Fatalf("starts that were refused have written: %d checkpoints, want %d", n, len(pointers))
	}

	flags := []string{"--from", fmt.Sprint("checkpoint:", to), "--set", "checkpoint.local_dir=" + t.TempDir()}
	p = j.start(t, flags...)
	j.waitForOutput(t, records+again, 60*time.Second)
	p.Kill()
	p = j.start(t, flags...) // a supervisor repeats the flags
	j.cluster.ProduceNumbers(t, j.in, numbers, records, records+500)
	j.waitForOutput(t, records+again+500, 60*time.Second)
	j.stop(t, p)
	for _, ptr := range pointers {
		if ptr.Checkpoint == to {
			j.checkRepetition(t, before, ptr)
		}
	}
	all := j.cluster.Pointers(t, j.checkpointTopic())
	if err := harness.DenseIDs(all); err != nil {
		t.Error(err)
	}
	j.cluster.OffsetsAgree(t, j.name, all[len(all)-1])
	j.cluster.NoOpenTransactions(t, j.transactionPrefix())
}

// checkRepetition checks that since before the job has written the results of the records that were not yet read at a
// checkpoint, and nothing else, continuing with the sums of that checkpoint.
func (j *sumsJob) checkRepetition(t *testing.T, before harness.Sums, at *checkpoint.Pointer) {
	t.Helper()
	input := j.cluster.Read(t, j.in)
	want, err := harness.RunningSums(input)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range at.Sources[0].Splits {
		for _, r := range input[s.Partition] {
			if r.Offset < s.Offset {
				want[string(r.Key)] = want[string(r.Key)][1:]
			}
		}
	}
	got := harness.Sums{}
	for key, sums := range j.results(t) {
		got[key] = sums[len(before[key]):]
	}
	if err := want.Compare(got); err != nil {
		t.Error(err)
	}
}

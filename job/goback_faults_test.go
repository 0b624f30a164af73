package job_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// pointers reads the committed pointers of the job sums, oldest first and complete.
func (c *cluster) pointers(o job.Options) []*checkpoint.Pointer {
	c.t.Helper()
	store, err := checkpoint.OpenStore(c.t.Context(), o.Checkpoint.Storage)
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	var out []*checkpoint.Pointer
	for _, r := range c.records("weir.sums.checkpoints") {
		p, err := checkpoint.DecodePointer(r.Value)
		if err != nil {
			c.t.Fatal(err)
		}
		if whole, err := checkpoint.LoadPointer(c.t.Context(), checkpoint.NewFiles(store, nil), r.Value); err == nil {
			p = whole
		}
		out = append(out, p)
	}
	return out
}

// checkpointTopic makes the checkpoint topic so that it takes records of that size only.
func (c *cluster) checkpointTopic(bytes int) {
	c.t.Helper()
	config := map[string]*string{
		"cleanup.policy": new("delete"), "retention.ms": new("-1"), "retention.bytes": new("-1"), "max.message.bytes": new(strconv.Itoa(bytes)),
	}
	if _, err := kadm.NewClient(c.client).CreateTopic(c.t.Context(), 1, 1, config, "weir.sums.checkpoints"); err != nil {
		c.t.Fatal(err)
	}
}

// history runs the job over several portions of input, with a restart between, and returns how many records there are.
func (c *cluster) history(o job.Options, keys int) (records int) {
	c.t.Helper()
	for range 2 {
		j := start(c.t, sums(2), o)
		eventually(c.t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
		for range 5 {
			before := j.Status().Checkpoint
			c.feed("in", records, 300, keys)
			records += 300
			j.past(before + 1)
		}
		eventually(c.t, "all results", func() bool { return diff(c.read("out"), wantSums(records, keys)) == nil })
		j.kill() // not stopped: its last checkpoint has changes
	}
	return records
}

// repeated is what the output is after a job that had written want has gone back to a checkpoint and come to the end
// again; n is how many records it has read again.
func (c *cluster) repeated(want map[string][]string, p *checkpoint.Pointer) (again map[string][]string, n int64) {
	c.t.Helper()
	offsets := map[int32]int64{}
	for _, s := range p.Sources[0].Splits {
		offsets[s.Partition] = s.Offset
	}
	done := map[string]int{}
	for _, r := range c.records("in") {
		if r.Offset < offsets[r.Partition] {
			done[string(r.Key)]++
		} else {
			n++
		}
	}
	again = map[string][]string{}
	for k, v := range want {
		again[k] = slices.Concat(v, v[done[k]:])
	}
	return again, n
}

// kinds are the forms that a checkpoint has.
var kinds = []struct {
	name      string
	inline    checkpoint.Bytes
	baseAfter checkpoint.Bytes
	pointer   int // max.message.bytes of the checkpoint topic
	parallel  int // checkpoints under way
}{
	{"inline", 20 << 10, 1 << 20, 0, 1},
	{"files", 1, 1 << 20, 0, 1},
	{"bases", 1, 3000, 0, 1},
	{"inline and bases", 20 << 10, 3000, 0, 3},
	{"pointers in files", 1, 3000, 2000, 1},
}

func (c *cluster) kind(i int) job.Options {
	k := kinds[i]
	o := c.options(5 * time.Millisecond)
	o.Checkpoint.InlineThreshold, o.Checkpoint.BaseAfter, o.Checkpoint.MaxConcurrent = k.inline, k.baseAfter, k.parallel
	o.Checkpoint.Retained = 4
	if k.pointer > 0 {
		c.checkpointTopic(k.pointer)
	}
	return o
}

// Whatever form a checkpoint has: the job goes back to each one that is retained and continues with exactly its numbers,
// on a machine that has nothing but the storage; the same flag again does not go back again.
func TestEveryRetainedCheckpointRestores(t *testing.T) {
	const keys = 97
	for i, kind := range kinds {
		for back := range int64(4) {
			t.Run(fmt.Sprint(kind.name, " back=", back), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, "in", "out")
				o := c.kind(i)
				records := c.history(o, keys)
				all := c.pointers(o)
				p := all[len(all)-1-int(back)]
				want, _ := c.repeated(wantSums(records, keys), p)

				o.Start = job.Start{From: fmt.Sprint("checkpoint:", p.Checkpoint)}
				o.Checkpoint.LocalDir = t.TempDir()
				j := start(t, sums(3), o)
				eventually(t, "the results again", func() bool {
					select {
					case err := <-j.done:
						t.Fatal(err)
					default:
					}
					return j.Status().Phase == runtime.Running && diff(c.read("out"), want) == nil
				})
				lineage := j.Status().Lineage
				if lineage == p.Lineage {
					t.Error("no new lineage")
				}
				j.kill()
				j = start(t, sums(1), o)
				eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
				if got := j.Status().Lineage; got != lineage {
					t.Errorf("the same flag again: lineage %s, want %s", got, lineage)
				}
				j.stop()
				if err := diff(c.read("out"), want); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// damages are what can happen to a file.
var damages = map[string]func(path string, content []byte) error{
	"truncated": func(path string, content []byte) error { return os.WriteFile(path, content[:len(content)/2], 0o644) },
	"empty":     func(path string, content []byte) error { return os.WriteFile(path, nil, 0o644) },
	"longer":    func(path string, content []byte) error { return os.WriteFile(path, append(content, 0), 0o644) },
	"one byte": func(path string, content []byte) error {
		content[len(content)/2] ^= 1
		return os.WriteFile(path, content, 0o644)
	},
	"swapped":    func(path string, content []byte) error { return os.WriteFile(path, make([]byte, len(content)), 0o644) },
	"missing":    func(path string, content []byte) error { return os.Remove(path) },
	"unreadable": func(path string, content []byte) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) },
	"a folder":   func(path string, content []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
}

func damage(t *testing.T, path string, do func(string, []byte) error) (mend func()) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(path, slices.Clone(content)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// Every file of the last checkpoint is damaged, in half of all ways, which change from file to file: the start names the file and offers the newest checkpoint that
// does not need it; nothing else is begun from. Going back as offered repeats exactly what was said.
func TestADamagedCheckpointIsNamedAndTheOneBeforeItOffered(t *testing.T) {
	const keys = 97
	for i, kind := range kinds[1:] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, "in", "out")
			o := c.kind(i + 1)
			records := c.history(o, keys)
			all := c.pointers(o)
			last := all[len(all)-1]
			var end *checkpoint.DamagedError
			var endFile string
			for n, f := range last.AllFiles() {
				for m, what := range slices.Sorted(maps.Keys(damages)) {
					if (n+m)%2 == 1 && f.Size > 0 || f.Size == 0 && slices.Contains([]string{"truncated", "empty", "one byte", "swapped"}, what) {
						continue // the other half; or it would be what it was
					}
					mend := damage(t, filepath.Join(o.Checkpoint.Storage, f.Name), damages[what])
					o.Checkpoint.LocalDir = t.TempDir()
					err := start(t, sums(2), o).wait()
					var d *checkpoint.DamagedError
					if !errors.As(err, &d) || d.Checkpoint != last.Checkpoint || !strings.Contains(err.Error(), f.Name) {
						t.Fatalf("%s %s: %v", f.Name, what, err)
					}
					if want := newestWhole(o, all); d.Offer == nil && want > 0 || d.Offer != nil && d.Offer.To != want {
						t.Fatalf("%s %s: %v, want an offer of checkpoint %d", f.Name, what, err, want)
					}
					if d.Offer != nil && (end == nil || last.File == nil || f.Name == last.File.Name) {
						end, endFile = d, f.Name
					}
					mend()
				}
			}
			if len(c.pointers(o)) != len(all) || diff(c.read("out"), wantSums(records, keys)) != nil {
				t.Fatal("a start that was refused has written something")
			}
			switch {
			case end == nil && kind.inline > 1:
				return // every file may be of a base that all of them share
			case end == nil:
				t.Fatal("nothing was ever offered")
			}
			// As for the last error above, and with nothing mended.
			damage(t, filepath.Join(o.Checkpoint.Storage, endFile), damages["missing"])
			to := all[len(all)-1-int(last.Checkpoint-end.Offer.To)]
			want, n := c.repeated(wantSums(records, keys), to)
			if n != end.Offer.Records {
				t.Errorf("%d records are read again, want %d as said: %v", n, end.Offer.Records, end)
			}
			o.Start.From = fmt.Sprint("checkpoint:", end.Offer.To)
			o.Checkpoint.LocalDir = t.TempDir()
			j := start(t, sums(2), o)
			eventually(t, "the results again", func() bool {
				select {
				case err := <-j.done:
					t.Fatal(err)
				default:
				}
				return diff(c.read("out"), want) == nil
			})
			j.stop()
			if err := diff(c.read("out"), want); err != nil {
				t.Fatal(err)
			}
			// The damage is behind it: without any flag it goes on.
			o.Start = job.Start{}
			o.Checkpoint.LocalDir = t.TempDir()
			c.feed("in", records, 100, keys)
			j = start(t, sums(1), o)
			all97 := wantSums(records+100, keys)
			for k := range want {
				want[k] = append(want[k], all97[k][len(wantSums(records, keys)[k]):]...)
			}
			eventually(t, "more results", func() bool { return diff(c.read("out"), want) == nil })
			j.stop()
		})
	}
}

// newestWhole is the newest of the checkpoints before the last, those that are retained and one more, which has all its
// files; 0 if there is none.
func newestWhole(o job.Options, all []*checkpoint.Pointer) int64 {
	for i := len(all) - 2; i >= max(0, len(all)-1-o.Checkpoint.Retained); i-- {
		damaged := slices.ContainsFunc(all[i].AllFiles(), func(f checkpoint.File) bool {
			content, err := os.ReadFile(filepath.Join(o.Checkpoint.Storage, f.Name))
			return err != nil || sha256.Sum256(content) != f.Hash
		})
		if all[i].Lineage == all[len(all)-1].Lineage && !damaged {
			return all[i].Checkpoint
		}
	}
	return 0
}

func TestGoingBackToWhatIsNotThereIsRefused(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	o.Start.From = "checkpoint:3"
	for what, want := range map[string]string{
		"checkpoint:3":  "checkpoint 3: topic weir.sums.checkpoints has no checkpoint at all",
		"checkpoint:0":  `"checkpoint:0": want checkpoint:ID`,
		"checkpoint:ab": `"checkpoint:ab": want checkpoint:ID`,
	} {
		o.Start.From = what
		if err := start(t, sums(1), o).wait(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	o.Start.From = ""
	c.feed("in", 0, 100, 7)
	j := start(t, sums(1), o)
	j.past(2)
	j.stop()
	o.Start.From = "checkpoint:99"
	err := start(t, sums(1), o).wait()
	var refused *checkpoint.RefusedError
	want := regexp.MustCompile(`checkpoint 99: topic weir\.sums\.checkpoints has no such checkpoint: it has [1-9]\d* to [1-9]\d*`)
	if !errors.As(err, &refused) || !want.MatchString(err.Error()) {
		t.Error(err)
	}
}

package job_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// leftKeys are those that history feeds.
const leftKeys = 97

// goOn is what the output is when the state of the first n records goes on with those up to total.
func goOn(want map[string][]string, n, total int) map[string][]string {
	out := map[string][]string{}
	before := wantSums(n, leftKeys)
	for k, all := range wantSums(total, leftKeys) {
		out[k] = slices.Concat(want[k], all[len(before[k]):])
	}
	return out
}

// busy feeds portions of input, with checkpoints after each, and returns the number of records then. sum says what the output
// is to be with that many.
func (r *running) busy(c *cluster, records, portions int, sum func(records int) map[string][]string) int {
	r.t.Helper()
	for range portions {
		before := r.Status().Checkpoint
		c.feed("in", records, 300, leftKeys)
		records += 300
		r.past(before + 1)
	}
	eventually(r.t, "the results", func() bool { return diff(c.read("out"), sum(records)) == nil })
	return records
}

// last is the last pointer, complete.
func (c *cluster) last(o job.Options) *checkpoint.Pointer {
	c.t.Helper()
	all := c.pointers(o)
	return all[len(all)-1]
}

// leftBehind reads the checkpoint that the last pointer's lineage has left behind.
func (c *cluster) leftBehind(o job.Options) (*checkpoint.Pointer, error) {
	c.t.Helper()
	store, err := checkpoint.OpenStore(c.t.Context(), o.Checkpoint.Storage)
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	return checkpoint.LoadLeft(c.t.Context(), checkpoint.NewFiles(store, nil), c.last(o).Left)
}

// stored are the names of all files that attempts of the job have in its storage.
func (c *cluster) stored(o job.Options) (names []string) {
	c.t.Helper()
	store, err := checkpoint.OpenStore(c.t.Context(), o.Checkpoint.Storage)
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	listed, err := store.List(c.t.Context(), "sums/")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range listed {
		if checkpoint.AttemptOf(f.Name) != "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// tidy waits until the storage has nothing but what the retained checkpoints need and the one that was left behind.
func (c *cluster) tidy(o job.Options) {
	c.t.Helper()
	var needless []string
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		left, err := c.leftBehind(o)
		if err != nil {
			c.t.Fatal(err)
		}
		needed := map[string]bool{}
		all := c.pointers(o)
		for _, p := range append(all[max(0, len(all)-o.Checkpoint.Retained):], left) {
			for _, f := range p.AllFiles() {
				needed[f.Name] = true
			}
		}
		needless = slices.DeleteFunc(c.stored(o), func(name string) bool { return needed[name] })
		if len(needless) == 0 {
			return
		}
	}
	c.t.Errorf("files that nothing needs: %v", needless)
}

// Whatever form the last checkpoint has and however few are retained: a lineage that begins over it leaves it whole, for as long
// as the new one lives, and the job goes back to it with exactly its numbers, on a machine that has nothing but the storage. The
// same again the other way.
func TestTheCheckpointOfTheLineageLeftBehindStays(t *testing.T) {
	for i, kind := range kinds {
		for _, retained := range []int{1, 3} {
			t.Run(fmt.Sprint(kind.name, " retained=", retained), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, "in", "out")
				o := c.kind(i)
				o.Checkpoint.Retained = retained
				old := c.history(o, leftKeys)
				left := c.last(o)
				if left.Left != nil {
					t.Fatalf("a job without another lineage has left %+v behind", left.Left)
				}

				o.Start = job.Start{Fresh: true}
				want := wantSums(old, leftKeys)
				fresh := func(records int) map[string][]string {
					out := map[string][]string{}
					for k, v := range wantSums(records, leftKeys) {
						out[k] = slices.Concat(want[k], v)
					}
					return out
				}
				records := old
				for range 2 { // with a recovery between
					j := start(t, sums(2), o)
					j.runs()
					records = j.busy(c, records, 4, fresh)
					j.kill()
				}
				want = fresh(records)
				second := c.last(o)
				if second.Left == nil || second.Left.Checkpoint != left.Checkpoint {
					t.Fatalf("left behind: %+v, want checkpoint %d", second.Left, left.Checkpoint)
				}

				o.Checkpoint.LocalDir = t.TempDir()
				o.Start = job.Start{From: fmt.Sprint("checkpoint:", left.Checkpoint)}
				at := records
				first := want
				back := func(records int) map[string][]string { return goOn(first, old, records) }
				j := start(t, sums(3), o)
				j.runs()
				records = j.busy(c, records, 2, back)
				want = back(records)
				j.kill()

				// To the fresh one again, which had come to "at" from nothing.
				o.Start = job.Start{From: fmt.Sprint("checkpoint:", second.Checkpoint)}
				j = start(t, sums(1), o)
				j.runs()
				again := func(records int) map[string][]string { return goOn(want, at, records) }
				records = j.busy(c, records, 2, again)
				j.kill()
				j = start(t, sums(1), o) // what the one before has not cleaned
				j.runs()
				c.tidy(o)
				j.stop()
				if err := diff(c.read("out"), again(records)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Only the newest one that was left behind stays: what the one before it needed is deleted, and its name is refused.
func TestAnotherLineageTakesThePlaceOfTheOneLeftBehind(t *testing.T) {
	for _, i := range []int{0, 1, 2, 4} {
		t.Run(kinds[i].name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, "in", "out")
			o := c.kind(i)
			o.Checkpoint.Retained = 1
			records := c.history(o, leftKeys)
			first := c.last(o)
			want := wantSums(records, leftKeys)
			for _, name := range []string{"monday", "tuesday"} {
				o.Start = job.Start{Fresh: true, FreshName: name}
				j := start(t, sums(1), o)
				j.runs()
				before := want
				fresh := func(records int) map[string][]string {
					want := map[string][]string{}
					for k, v := range wantSums(records, leftKeys) {
						want[k] = slices.Concat(before[k], v)
					}
					return want
				}
				records = j.busy(c, records, 3, fresh)
				want = fresh(records)
				j.kill()
			}
			j := start(t, sums(1), o)
			j.runs()
			c.tidy(o)
			j.stop()
			stored := c.stored(o)
			for _, f := range first.AllFiles() {
				if slices.Contains(stored, f.Name) {
					t.Errorf("%s of the lineage before the last is still there", f.Name)
				}
			}
			o.Start = job.Start{From: fmt.Sprint("checkpoint:", first.Checkpoint)}
			if len(first.AllFiles()) > 0 { // else it goes with its records, every 10 seconds
				j := start(t, sums(1), o)
				if err := j.wait(); err == nil {
					t.Error("the job has gone back to a checkpoint whose lineage was left before the last")
				}
			}
		})
	}
}

// crashAt starts the job and ends it at a step, if it has that step.
func crashAt(t *testing.T, o job.Options, step fault.Step) {
	t.Helper()
	at, dead := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o.Fault = func(s fault.Step) {
		if s == step {
			once.Do(func() { close(at) })
			<-dead
		}
	}
	j := start(t, sums(1), o)
	var running time.Time
	eventually(t, string(step), func() bool {
		select {
		case <-at:
			return true
		case err := <-j.done:
			t.Fatal(err)
		default:
		}
		if running.IsZero() && j.Status().Phase == runtime.Running {
			running = time.Now()
		}
		return !running.IsZero() && time.Since(running) > 100*time.Millisecond // it has no such step
	})
	j.crash(errCrash)
	close(dead)
	<-j.done
}

// A crash at any step of the start that leaves a lineage behind, of the one that goes back to it, and of a recovery after each,
// and while files are deleted, loses neither what was left nor a result.
func TestACrashAtAnyStepKeepsWhatIsLeftBehind(t *testing.T) {
	steps := append(fault.RecoverySteps(), fault.Uploading, fault.Uploaded, fault.Cleaning)
	for _, i := range []int{3} { // inline and bases
		for _, step := range steps {
			t.Run(fmt.Sprint(kinds[i].name, ", crash at ", step), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, "in", "out")
				o := c.kind(i)
				o.Checkpoint.Retained = 1
				old := c.history(o, leftKeys)
				left := c.last(o)
				plain := o

				o.Start = job.Start{Fresh: true}
				crashAt(t, o, step)
				crashAt(t, o, step) // of the recovery, if the first had committed
				want := wantSums(old, leftKeys)
				all := map[string][]string{}
				for k, v := range want {
					all[k] = slices.Concat(v, v)
				}
				j := start(t, sums(1), o)
				eventually(t, "the whole input again", func() bool { return diff(c.read("out"), all) == nil })
				j.kill()
				if got := c.last(o).Left; got == nil || got.Checkpoint != left.Checkpoint {
					t.Fatalf("left behind: %+v, want checkpoint %d", got, left.Checkpoint)
				}

				o.Start = job.Start{From: fmt.Sprint("checkpoint:", left.Checkpoint)}
				crashAt(t, o, step)
				crashAt(t, o, step)
				j = start(t, sums(1), o)
				j.runs()
				records := j.busy(c, old, 2, func(records int) map[string][]string { return goOn(all, old, records) })
				j.kill()
				j = start(t, sums(1), plain)
				j.runs()
				c.tidy(o)
				j.stop()
				if err := diff(c.read("out"), goOn(all, old, records)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A file that cannot be read for a moment is no reason to delete what it names, however many checkpoints and recoveries pass
// meanwhile. One that is gone, or is not what was written, is: the log says so once, and the job runs.
func TestWhatIsLeftBehindOutlivesAReadErrorAndNotItsLoss(t *testing.T) {
	for what, passes := range map[string]bool{"unreadable": true, "missing": false, "one byte": false, "truncated": false} {
		for _, retained := range []int{1, 3} {
			t.Run(fmt.Sprint(what, " retained=", retained), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, "in", "out")
				o := c.kind(2) // bases
				o.Checkpoint.Retained = retained
				records := c.history(o, leftKeys)
				old := c.last(o)
				want := wantSums(records, leftKeys)
				fresh := func(records int) map[string][]string {
					out := map[string][]string{}
					for k, v := range wantSums(records, leftKeys) {
						out[k] = slices.Concat(want[k], v)
					}
					return out
				}
				from := o
				at := records
				o.Start = job.Start{Fresh: true}
				crashAt(t, o, fault.Begun) // before anything is deleted
				mend := damage(t, filepath.Join(o.Checkpoint.Storage, c.last(o).Left.File.Name), damages[what])
				for range 2 {
					j := start(t, sums(1), o)
					j.runs()
					records = j.busy(c, records, 3, fresh)
					j.kill()
				}
				from.Start = job.Start{From: fmt.Sprint("checkpoint:", old.Checkpoint)}
				if passes {
					mend()
					j := start(t, sums(1), from)
					j.runs()
					all := fresh(records)
					records = j.busy(c, records, 2, func(records int) map[string][]string { return goOn(all, at, records) })
					j.stop()
					return
				}
				if got := c.last(o).Left; got != nil {
					t.Errorf("still left behind: %+v", got)
				}
				j := start(t, sums(1), o)
				j.runs()
				eventually(t, "the files to go", func() bool {
					stored := c.stored(o)
					return !slices.ContainsFunc(old.AllFiles(), func(f checkpoint.File) bool { return slices.Contains(stored, f.Name) })
				})
				j.stop()
			})
		}
	}
}

// A checkpoint that lacks a file when its lineage is left is not kept; the one that was left before it is.
func TestADamagedCheckpointDoesNotTakeThePlaceOfTheOneLeftBehind(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.kind(2)
	o.Checkpoint.Retained = 1
	records := c.history(o, leftKeys)
	at := records
	whole := c.last(o)
	all := map[string][]string{}
	for k, v := range wantSums(records, leftKeys) {
		all[k] = slices.Concat(v, v)
	}
	o.Start = job.Start{Fresh: true, FreshName: "a"}
	j := start(t, sums(1), o)
	eventually(t, "the whole input again", func() bool { return diff(c.read("out"), all) == nil })
	j.kill()
	damaged := c.last(o)
	for _, f := range damaged.AllFiles() {
		if strings.Contains(f.Name, "/") {
			if err := os.Remove(filepath.Join(o.Checkpoint.Storage, f.Name)); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	o.Start.FreshName = "b"
	j = start(t, sums(1), o)
	j.runs()
	j.stop()
	if got := c.last(o).Left; got == nil || got.Checkpoint != whole.Checkpoint {
		t.Fatalf("left behind: %+v, want checkpoint %d", got, whole.Checkpoint)
	}
	before := c.read("out")
	o.Start = job.Start{From: fmt.Sprint("checkpoint:", whole.Checkpoint)}
	j = start(t, sums(1), o)
	j.runs()
	j.busy(c, records, 2, func(records int) map[string][]string { return goOn(before, at, records) })
	j.stop()
}

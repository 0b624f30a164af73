package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// gcName makes a file's name of "A 5 x.delta": attempt, checkpoint, and what its hash is made of.
func gcName(attempt string, upload int64, what string) string {
	what, kind, _ := strings.Cut(what, ".")
	return FileName("j", 0, attempt, upload, sha256.Sum256([]byte(what)), kind)
}

// TestCollect runs the transcripts of testdata/gc. "pointer" appends a pointer: checkpoint=, attempt=, time=, and in the input
// the files that it lists, one a line as ATTEMPT CHECKPOINT NAME.KIND. "collect" takes the files that there are, and says what
// becomes of each.
func TestCollect(t *testing.T) {
	datadriven.Walk(t, "testdata/gc", func(t *testing.T, path string) {
		var pointers []Committed
		parseFile := func(d *datadriven.TestData, line string) string {
			var attempt, what string
			var upload int64
			if _, err := fmt.Sscanf(line, "%s %d %s", &attempt, &upload, &what); err != nil {
				return line // a name that is not the engine's
			}
			return gcName(attempt, upload, what)
		}
		lines := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' }) }
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				pointers = nil
				return ""
			case "pointer":
				p := &Pointer{}
				d.ScanArgs(t, "checkpoint", &p.Checkpoint)
				d.ScanArgs(t, "attempt", &p.Attempt)
				d.MaybeScanArgs(t, "time", &p.Time)
				for _, line := range lines(d.Input) {
					p.Deltas = append(p.Deltas, Delta{File: &File{Name: parseFile(d, line)}})
				}
				pointers = append(pointers, Committed{Offset: int64(len(pointers)), Pointer: p})
				return ""
			case "collect":
				now, grace := int64(1000), int64(0)
				d.MaybeScanArgs(t, "now", &now)
				d.MaybeScanArgs(t, "grace", &grace)
				var listed []Stored
				said := map[string]string{}
				for _, line := range lines(d.Input) {
					listed = append(listed, Stored{Name: parseFile(d, line)})
					said[parseFile(d, line)] = line
				}
				c := Collect(listed, pointers, nil, now, grace)
				var b strings.Builder
				for _, group := range []struct {
					what  string
					files []Stored
				}{{"delete", c.Delete}, {"needed", c.Listed}, {"may run", c.Running}, {"too young", c.Young}, {"not the engine's", c.Foreign}} {
					for _, f := range group.files {
						fmt.Fprintf(&b, "%s: %s\n", group.what, said[f.Name])
					}
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// After a failure at any deletion, or a crash, every checkpoint that was whole is whole.
func TestACollectionThatStopsAnywhereLeavesEveryCheckpointWhole(t *testing.T) {
	ctx := t.Context()
	build := func() (*Files, []Committed) {
		files := memFiles(t)
		put := func(attempt string, upload int64, what string) File {
			f, err := files.UploadBytes(ctx, func(h Hash) string { return FileName("j", 0, attempt, upload, h, "delta") }, []byte(what))
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		var pointers []Committed
		var kept []File
		for i, attempt := range []string{"a", "a", "b", "c", "c"} {
			id := int64(i + 1)
			kept = append(kept, put(attempt, id, fmt.Sprint("listed ", id)))
			put(attempt, id, fmt.Sprint("garbage ", id))
			put("dead", id, fmt.Sprint("garbage of another ", id))
			p := &Pointer{Checkpoint: id, Attempt: attempt}
			for _, f := range kept {
				p.Deltas = append(p.Deltas, Delta{File: &f})
			}
			pointers = append(pointers, Committed{Offset: id, Pointer: p})
		}
		put("next", 6, "of an attempt that recovers")
		return files, pointers
	}
	// What is left behind is needed until it is given up.
	files, pointers := build()
	listed, err := files.Store().List(ctx, "j/0/")
	if err != nil {
		t.Fatal(err)
	}
	left := &Pointer{Checkpoint: 1, Deltas: []Delta{{File: &File{Name: Collect(listed, pointers, nil, 1000, 0).Delete[0].Name}}}}
	if c := Collect(listed, pointers, left, 1000, 0); len(c.Delete) != 7 || len(c.Listed) != 6 {
		t.Errorf("with one left behind %d are deleted, want 7; %d needed, want 6", len(c.Delete), len(c.Listed))
	}
	for deletions := 0; ; deletions++ {
		files, pointers := build()
		listed, err := files.Store().List(ctx, "j/0/")
		if err != nil {
			t.Fatal(err)
		}
		c := Collect(listed, pointers, nil, 1000, 0)
		deleted := 0
		err = DeleteAll(ctx, &deleteLimit{files.Store(), deletions}, c.Delete, func(Stored) { deleted++ })
		for _, p := range pointers {
			for _, f := range p.Pointer.AllFiles() {
				if err := files.Verify(ctx, f); err != nil {
					t.Errorf("after %d deletions checkpoint %d is not whole: %v", deletions, p.Pointer.Checkpoint, err)
				}
			}
		}
		if err == nil {
			if deleted != 8 || len(c.Running) != 3 {
				t.Errorf("%d files deleted, want 8; %d left to attempts that may run, want 3", deleted, len(c.Running))
			}
			return
		}
		// What is left goes with the next collection.
		if listed, err = files.Store().List(ctx, "j/0/"); err != nil {
			t.Fatal(err)
		}
		if rest := Collect(listed, pointers, nil, 1000, 0); len(rest.Delete) != 8-deletions {
			t.Errorf("after %d deletions %d are left", deletions, len(rest.Delete))
		}
	}
}

// deleteLimit fails after some deletions.
type deleteLimit struct {
	Store
	left int
}

func (s *deleteLimit) Delete(ctx context.Context, name string) error {
	if s.left--; s.left < 0 {
		return errors.New("the end")
	}
	return s.Store.Delete(ctx, name)
}

// Whatever attempts do beside a collector, and however old what it reads, it never takes a file that a checkpoint lists or will
// list. The attempts keep the rules of the protocol: each fences every slot, reads the last pointer (or an older one, and then
// looks again before its first commit), uploads for the checkpoints that follow, and commits in their slots if it has them still.
func TestACollectorTakesNothingThatACheckpointNeeds(t *testing.T) {
	deleted := 0
	for seed := range uint64(200) {
		w := &gcWorld{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), store: map[string]bool{}, gone: map[string]bool{}}
		for range 300 {
			w.step(true)
			if t.Failed() {
				return
			}
		}
		if len(w.log) == 0 {
			t.Errorf("seed %d: nothing was committed", seed)
		}
		deleted += w.deleted
	}
	if deleted < 1000 {
		t.Errorf("only %d files were deleted", deleted)
	}
}

type gcWorld struct {
	t        *testing.T
	seed     uint64
	rng      *rand.Rand
	slots    [Slots]int // whose each is
	log      []Committed
	trimmed  int
	store    map[string]bool
	gone     map[string]bool // what collectors have deleted
	attempts []*gcAttempt
	count    int
	deleted  int
}

type gcAttempt struct {
	id      int
	fenced  int
	read    int64 // the checkpoint that it began from
	next    int64
	first   bool
	files   []string // what its next pointer inherits
	pending []string // what it has uploaded since
}

func (w *gcWorld) last() int64 {
	if len(w.log) == 0 {
		return 0
	}
	return w.log[len(w.log)-1].Pointer.Checkpoint
}

func (w *gcWorld) upload(a *gcAttempt, upload int64) string {
	w.count++
	name := gcName(fmt.Sprint("attempt-", a.id), upload, fmt.Sprintf("%d.delta", w.count))
	w.store[name] = true
	return name
}

// step does one thing of anybody; a collector's steps have others between.
func (w *gcWorld) step(collect bool) {
	switch n := w.rng.IntN(20); {
	case n == 0 && len(w.attempts) < 4 || len(w.attempts) == 0:
		w.count++
		w.attempts = append(w.attempts, &gcAttempt{id: w.count})
	case n == 1 && collect:
		w.collect()
	case n == 2 && len(w.attempts) > 1:
		w.end(w.attempts[w.rng.IntN(len(w.attempts))])
	default:
		w.advance(w.attempts[w.rng.IntN(len(w.attempts))])
	}
}

func (w *gcWorld) end(a *gcAttempt) {
	w.attempts = slices.DeleteFunc(w.attempts, func(o *gcAttempt) bool { return o == a })
}

func (w *gcWorld) advance(a *gcAttempt) {
	switch {
	case a.fenced < Slots:
		w.slots[a.fenced] = a.id
		if a.fenced++; a.fenced < Slots {
			return
		}
		at := len(w.log)
		if w.rng.IntN(10) == 0 {
			at = max(0, at-w.rng.IntN(3)) // a node that leads no more answers
		}
		a.first = true
		if at > 0 {
			p := w.log[at-1].Pointer
			a.read = p.Checkpoint
			if from := max(w.trimmed, at-2); w.rng.IntN(5) == 0 && from < at {
				// It goes back to an older one, whose files it copies.
				for range w.log[from].Pointer.AllFiles() {
					a.pending = append(a.pending, w.upload(a, a.read+1))
				}
			} else {
				for _, f := range p.AllFiles() {
					a.files = append(a.files, f.Name)
				}
			}
		}
		a.next = a.read + 1
	case w.rng.IntN(2) == 0:
		name := w.upload(a, a.next)
		if w.rng.IntN(3) > 0 {
			a.pending = append(a.pending, name) // else it fails, and is garbage
		}
	default:
		w.commit(a)
	}
}

func (w *gcWorld) commit(a *gcAttempt) {
	if w.slots[Slot(a.next)] != a.id || a.first && w.last() != a.read {
		w.end(a)
		return
	}
	a.first = false
	a.files = append(a.files, a.pending...)
	a.pending = nil
	if w.rng.IntN(3) == 0 { // a base, or a merge, takes the place of some
		a.files = slices.DeleteFunc(a.files, func(string) bool { return w.rng.IntN(2) == 0 })
	}
	p := &Pointer{Checkpoint: a.next, Attempt: fmt.Sprint("attempt-", a.id)}
	for _, name := range a.files {
		if w.gone[name] {
			w.t.Errorf("seed %d: checkpoint %d lists a file that a collector has deleted", w.seed, a.next)
		}
		p.Deltas = append(p.Deltas, Delta{File: &File{Name: name}})
	}
	w.log = append(w.log, Committed{Offset: int64(len(w.log)), Pointer: p})
	w.trimmed = max(w.trimmed, len(w.log)-1-w.rng.IntN(3))
	if w.rng.IntN(3) == 0 {
		a.pending = append(a.pending, w.upload(a, a.next)) // a base of what was just committed
	}
	a.next++
}

// collect lists, reads what may be an old list of pointers, and deletes, in any order and with steps of others in between.
func (w *gcWorld) collect() {
	if len(w.log) == 0 {
		return
	}
	var listed []Stored
	var pointers []Committed
	list := func() {
		for name := range w.store {
			listed = append(listed, Stored{Name: name})
		}
		slices.SortFunc(listed, func(a, b Stored) int { return strings.Compare(a.Name, b.Name) })
	}
	read := func() {
		end := max(w.trimmed+1, len(w.log)-w.rng.IntN(3))
		pointers = slices.Clone(w.log[w.trimmed:end])
	}
	others := func(n int) {
		for range w.rng.IntN(n) {
			w.step(false)
		}
	}
	list()
	others(15)
	read()
	others(15)
	for _, f := range Collect(listed, pointers, nil, 0, 0).Delete {
		others(3)
		for _, c := range w.log[w.trimmed:] {
			if slices.ContainsFunc(c.Pointer.AllFiles(), func(n File) bool { return n.Name == f.Name }) {
				w.t.Errorf("seed %d: a file of checkpoint %d is deleted, which is listed", w.seed, c.Pointer.Checkpoint)
			}
		}
		delete(w.store, f.Name)
		w.gone[f.Name] = true
		w.deleted++
		if w.rng.IntN(20) == 0 {
			return // it was killed
		}
	}
}

func TestUploadsAreToldByTheirNames(t *testing.T) {
	var h Hash
	for name, want := range map[string]int64{
		FileName("j", 0, "a", 42, h, "base"): 42, FileName("j", 0, "a", 0, h, "delta"): 0,
		"j/0/a/.tmp-0123": -1, "j/0/a/42-abc.base": -1, "j/0/a/x": -1, "42-" + h.String() + ".base": -1, "j/0/a/-" + h.String() + ".base": -1,
	} {
		got, ok := uploadOf(name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
}

func TestFilesAreSortedByShard(t *testing.T) {
	names := map[int]int{}
	var listed []Stored
	for _, name := range []string{
		FileName("j", 0, "a", 1, Hash{}, "delta"), FileName("j", 0, "a", 2, Hash{}, "delta"), FileName("j", 12, "a", 1, Hash{}, "base"),
		FileName("k", 1, "a", 1, Hash{}, "delta"), OwnerName("j", 1), "j/01/a/1-x.delta", "j/-1/a/1-x.delta", "j/x/a", "j/7", "12/a/b",
	} {
		listed = append(listed, Stored{Name: name})
	}
	for shard, files := range ByShard("j", listed) {
		names[shard] = len(files)
	}
	if len(names) != 2 || names[0] != 2 || names[12] != 1 {
		t.Errorf("files by shard: %v", names)
	}
}

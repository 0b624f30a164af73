package savepoint

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// small writes a savepoint of a few small files.
func small(t *testing.T, dir string, id int64) *checkpoint.Manifest {
	t.Helper()
	store, err := checkpoint.OpenStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	files := checkpoint.NewFiles(store, nil)
	put := func(kind, content string) checkpoint.File {
		f, err := files.UploadBytes(t.Context(), func(h checkpoint.Hash) string { return h.String() + "." + kind }, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	delta := put("delta", "the changes since")
	base := put("base", "a table")
	base.Local = "000004.sst"
	p := &checkpoint.Pointer{
		Job: "clicks", Shards: 1, KeyGroups: 128, Checkpoint: id, Lineage: "4b1c7f8e-1111-4222-8333-444455556666", Time: 1_700_000_000_000 + 1000*id, Request: "start",
		Sources: []checkpoint.Source{{Name: "views", Splits: []checkpoint.Split{
			{Topic: "views", Partition: 0, Offset: 100, LeaderEpoch: 3, Stop: -1},
			{Topic: "views", Partition: 1, Offset: 50, LeaderEpoch: 3, Stop: -1},
		}}},
		Operators: []checkpoint.Operator{{Name: "count", Kind: "count", States: []checkpoint.State{{ID: 1, Name: "sum", Kind: "value", Type: "int64", Version: 1}}}},
		Base:      &checkpoint.Base{Checkpoint: id - 1, Files: []checkpoint.File{base}},
		Deltas:    []checkpoint.Delta{{First: id, Checkpoint: id, Size: delta.Size, Hash: delta.Hash, File: &delta, Offset: -1}},
	}
	m, err := checkpoint.NewManifest(p)
	if err == nil {
		err = checkpoint.WriteManifest(t.Context(), files, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// whole opens a savepoint and verifies every file.
func whole(t *testing.T, dir string) *checkpoint.Manifest {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Manifest.Verify(t.Context(), s.Files); err != nil {
		t.Fatal(err)
	}
	return s.Manifest
}

// names are the files in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !e.IsDir() {
			out = append(out, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestACopyIsTheSameSavepoint(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "deep", "b")
	m := small(t, a, 42)
	for range 2 { // it may be repeated
		got, err := Copy(t.Context(), a, b)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != m.ID || got.Files != 2 {
			t.Errorf("%+v", got)
		}
	}
	if got := whole(t, b); !reflect.DeepEqual(got.Pointer, m.Pointer) {
		t.Errorf("got %+v\nwant %+v", got.Pointer, m.Pointer)
	}
	for what, try := range map[string]struct{ from, to, says string }{
		"onto itself":       {a, a, "the same place"},
		"onto another":      {a, filepath.Join(dir, "other"), "there is another savepoint already"},
		"of what is not":    {filepath.Join(dir, "none"), b, "there is no such directory"},
		"of no savepoint":   {dir, b, "is not a savepoint"},
		"of a file":         {filepath.Join(a, checkpoint.ManifestName), b, "it is a file"},
		"to what cannot be": {a, filepath.Join(a, checkpoint.ManifestName), "not a directory"},
	} {
		small(t, filepath.Join(dir, "other"), 43)
		if _, err := Copy(t.Context(), try.from, try.to); err == nil || !strings.Contains(err.Error(), try.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What is damaged is not copied, and no manifest says that it was.
func TestADamagedSavepointIsNotCopied(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	m := small(t, a, 42)
	file := m.Pointer.AllFiles()[0]
	if err := os.WriteFile(filepath.Join(a, file.Name), []byte("a tablE"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Copy(t.Context(), a, b)
	if !errors.Is(err, checkpoint.ErrCorrupt) || !strings.Contains(err.Error(), file.Name) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a savepoint: %v", err)
	}
}

// failing fails every call that writes or deletes after some.
type failing struct {
	checkpoint.Store
	left int
}

func (f *failing) count() error {
	if f.left--; f.left < 0 {
		return fs.ErrPermission
	}
	return nil
}

func (f *failing) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	if err := f.count(); err != nil {
		return err
	}
	return f.Store.Put(ctx, name, content)
}

func (f *failing) Delete(ctx context.Context, name string) error {
	if err := f.count(); err != nil {
		return err
	}
	return f.Store.Delete(ctx, name)
}

// A deletion that ends after any step leaves a whole savepoint or none, and the same call completes it.
func TestADeletionThatStopsAnywhereLeavesAWholeSavepointOrNone(t *testing.T) {
	for steps := 0; ; steps++ {
		dir := filepath.Join(t.TempDir(), "a")
		m := small(t, dir, 42)
		d, err := PlanDelete(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if d.ID != m.ID || d.Job != "clicks" || d.Begun {
			t.Errorf("%+v", d.Listed)
		}
		d.store = &failing{d.store, steps}
		err = d.Do(t.Context())
		if slices.Contains(names(t, dir), checkpoint.ManifestName) {
			whole(t, dir)
		} else if _, err := Open(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %d steps: %v", steps, err)
		}
		if err == nil {
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory is there: %v", err)
			}
			if steps < 5 {
				t.Errorf("only %d steps", steps)
			}
			return
		}
		again, err := PlanDelete(t.Context(), dir)
		if err != nil {
			if steps == 0 || !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("after %d steps: %v", steps, err)
			}
			continue // nothing is left but an empty directory
		}
		if err := again.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("after %d steps and again: left: %v", steps, left)
		}
	}
}

// On a full disk nothing can be written, and a deletion is what makes room.
func TestADeletionNeedsNoRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	small(t, dir, 42)
	d, err := PlanDelete(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	d.store = &fullDisk{d.store}
	if err := d.Do(t.Context()); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

type fullDisk struct{ checkpoint.Store }

func (fullDisk) Put(context.Context, string, io.ReadSeeker) error {
	return errors.New("no space left on device")
}

func TestOnlyASavepointIsDeleted(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a")
	small(t, a, 42)
	if err := os.WriteFile(filepath.Join(a, "notes.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	for what, says := range map[string]string{a: "files that are not its own, so nothing was deleted: notes.txt", dir: "is not a savepoint", filepath.Join(dir, "none"): "no such directory"} {
		if _, err := PlanDelete(t.Context(), what); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := names(t, dir); !slices.Equal(before, after) {
		t.Errorf("%v, then %v", before, after)
	}
}

func TestListSaysWhichSavepointsAreWhole(t *testing.T) {
	dir := t.TempDir()
	old := small(t, filepath.Join(dir, "old"), 41)
	small(t, filepath.Join(dir, "deep", "new"), 42)
	small(t, filepath.Join(dir, "broken"), 43)
	small(t, filepath.Join(dir, "unfinished"), 44)
	small(t, filepath.Join(dir, "half"), 45)
	for _, path := range []string{"broken/" + old.Pointer.AllFiles()[0].Name, "unfinished/" + checkpoint.ManifestName} {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(path))); err != nil {
			t.Fatal(err)
		}
	}
	d, err := PlanDelete(t.Context(), filepath.Join(dir, "half"))
	if err != nil {
		t.Fatal(err)
	}
	d.store = &failing{d.store, 3}
	_ = d.Do(t.Context()) // it is to fail
	listed, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, l := range listed {
		name, err := filepath.Rel(dir, l.Location)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.ToSlash(name)] = l.Lacks
		if l.Whole != (l.Lacks == "") {
			t.Errorf("%+v", l)
		}
	}
	want := map[string]string{
		"old": "", "deep/new": "", "broken": "1 of its 3 files not there or of another size", "half": "its deletion is not complete: delete it again",
		"unfinished": "it has no manifest.json: it is being written, or was never completed",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if listed[0].Checkpoint != 43 || listed[1].Location != filepath.Join(dir, "deep", "new") || listed[2].Checkpoint != 41 {
		t.Errorf("the order is %+v", listed)
	}
	if _, err := List(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("the list has made a directory")
	}
	for location, want := range map[string]string{"s3://b/sp?region=x": "s3://b/sp/deep/new?region=x", "s3://b": "s3://b/deep/new", "/a/": "/a/deep/new"} {
		if got := join(location, "deep/new"); got != want {
			t.Errorf("%s: %s", location, got)
		}
	}
}

// logs are topics that a test makes up.
type logs map[string]map[int32]LogOffsets

func (l logs) Topic(_ context.Context, name string, at time.Time) (checkpoint.TopicID, map[int32]LogOffsets, error) {
	return checkpoint.TopicID{}, l[name], nil
}

func TestRewrittenSavepointContainsAllThatItNeeds(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	m := small(t, a, 42)
	s, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	edit, err := ParseOffset("views=timestamp:2026-11-30T10:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	one, err := ParseOffset("views:views/1=latest")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	r, err := s.Plan(t.Context(), RewriteOptions{
		Offsets: []OffsetEdit{edit, one}, DropState: []string{"count"}, Rename: map[string]string{"views": "pages"},
		Clusters: func(_ context.Context, source string) (Logs, error) {
			asked++
			if source != "views" {
				t.Errorf("asked for the cluster of %s", source)
			}
			return logs{"views": {0: {Start: 10, End: 200, High: 210, At: 30}, 1: {Start: 0, End: 60, High: 60, At: 40}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b); err == nil || asked == 0 {
		t.Error("a plan has written something, or asked nobody")
	}
	for range 2 { // it may be repeated
		if _, err := r.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	got := whole(t, b)
	splits := got.Pointer.Sources[0].Splits
	if got.ID != r.ID || got.ID == m.ID || got.Rewritten.From != m.ID || got.Pointer.Sources[0].Name != "pages" || splits[0].Offset != 30 || splits[1].Offset != 60 ||
		len(got.Pointer.Operators[0].States) != 0 || !slices.Equal(got.Pointer.Dropped, []uint16{1}) {
		t.Errorf("%+v\n%+v", got, got.Pointer)
	}
	want := []string{"drop-state count", "rename views=pages", "set-offset views:views/0=30", "set-offset views:views/1=60"}
	if !slices.Equal(got.Rewritten.Edits, want) {
		t.Errorf("%q", got.Rewritten.Edits)
	}
	listed, err := List(t.Context(), dir)
	if err != nil || len(listed) != 1 || listed[0].RewrittenFrom != m.ID || !listed[0].Whole {
		t.Errorf("%+v, %v", listed, err)
	}
	// A copy of it keeps what it was made of.
	if _, err := Copy(t.Context(), b, filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if c := whole(t, filepath.Join(dir, "c")); !reflect.DeepEqual(c.Rewritten, got.Rewritten) {
		t.Errorf("%+v", c.Rewritten)
	}
}

func TestWhatBrokersHaveToSayIsNotGuessed(t *testing.T) {
	a := filepath.Join(t.TempDir(), "a")
	small(t, a, 42)
	s, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var o RewriteOptions
	for _, text := range []string{"views=earliest", "views/1=timestamp:2026-11-30T10:00:00+01:00", "views/0=5"} {
		e, err := ParseOffset(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Offsets = append(o.Offsets, e)
	}
	_, err = s.Plan(t.Context(), o)
	if err == nil || strings.Count(err.Error(), "give --brokers") != 2 {
		t.Error(err)
	}
	o.Offsets = o.Offsets[2:]
	r, err := s.Plan(t.Context(), o)
	if err != nil || r.Effects[0].Split.Records != 95 || r.Effects[0].Split.Log != nil {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"views", "=5", "views/x=5", "views/-1=5", "views=soon", "views=timestamp:yesterday", "views=1.5"} {
		if _, err := ParseOffset(text); err == nil || !strings.Contains(err.Error(), "want TOPIC") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

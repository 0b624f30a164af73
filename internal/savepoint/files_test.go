package savepoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

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
		if got.ID != m.ID || got.Files != 3 { // a base, a delta, the manifest
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

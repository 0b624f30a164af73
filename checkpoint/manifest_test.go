package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// savepointSource stores what a small checkpoint needs and returns its pointer, with a base file and deltas in a file, in
// an older pointer record, and inline.
func savepointSource(t *testing.T, files *Files) (*Pointer, DeltaReader) {
	t.Helper()
	p := examplePointer()
	p.Final = false
	put := func(content, kind string) File {
		f, err := files.UploadBytes(t.Context(), func(h Hash) string { return FileName("clicks", 0, "a", 1, h, kind) }, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	base := put("a table", "sst")
	base.Local = "000009.sst"
	p.Base.Files = []File{base}
	file := put("in a file", "delta")
	p.Deltas[0].File, p.Deltas[0].Hash = &file, file.Hash
	p.Deltas[1].Hash = sha256.Sum256([]byte("in a record"))
	return p, func(_ context.Context, d Delta) ([]byte, error) {
		if d.Offset != 77 {
			t.Errorf("asked for offset %d", d.Offset)
		}
		return []byte("in a record"), nil
	}
}

func TestSavepointContainsAllThatItNeeds(t *testing.T) {
	ctx := t.Context()
	from := memFiles(t)
	p, deltas := savepointSource(t, from)
	dir := filepath.Join(t.TempDir(), "sp")
	to := dirFiles(t, dir)
	m, err := WriteSavepoint(ctx, from, to, p, t.TempDir(), deltas)
	if err != nil {
		t.Fatal(err)
	}
	// The directory may be moved.
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	to = dirFiles(t, moved)
	got, err := ReadManifest(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != p.Lineage+"-42" || !reflect.DeepEqual(got.Pointer, m.Pointer) {
		t.Errorf("got %+v\nwant %+v", got.Pointer, m.Pointer)
	}
	if err := got.Verify(ctx, to); err != nil {
		t.Error(err)
	}
	for i, want := range []string{"in a file", "in a record", "a delta"} {
		if b, err := to.ReadVerified(ctx, *got.Pointer.Deltas[i].File); string(b) != want || err != nil {
			t.Errorf("delta %d: %q, %v", i, b, err)
		}
	}
	if !reflect.DeepEqual(got.Pointer.Sources, p.Sources) || got.Pointer.Savepoint != "" || got.Pointer.Unfinished != nil {
		t.Errorf("pointer %+v", got.Pointer)
	}

	// A new lineage copies it into its own store.
	own := memFiles(t)
	adopted, err := AdoptSavepoint(ctx, to, own, got, t.TempDir(), "clicks", 0, "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range adopted.AllFiles() {
		if err := own.Verify(ctx, f); err != nil || AttemptOf(f.Name) != "b" {
			t.Error(f.Name, err)
		}
	}
	if f := adopted.Base.Files[0]; f.Local != "000009.sst" || !strings.HasSuffix(f.Name, ".sst") {
		t.Error(f)
	}
}

// A crash after any write leaves no savepoint or a whole one, and recovery, which repeats the call, makes it whole.
func TestSavepointSurvivesACrashAtEveryStep(t *testing.T) {
	ctx := t.Context()
	from := memFiles(t)
	p, deltas := savepointSource(t, from)
	for puts := 0; ; puts++ {
		to := memFiles(t)
		crash := &faulty{Store: to.Store(), err: fs.ErrPermission, late: true}
		_, err := WriteSavepoint(ctx, from, NewFiles(&putLimit{crash, puts}, nil), p, t.TempDir(), deltas)
		if err == nil {
			if puts < 5 {
				t.Fatalf("only %d files", puts)
			}
			return
		}
		if _, err := ReadManifest(ctx, to); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("after %d files: %v", puts, err)
		}
		if _, err := WriteSavepoint(ctx, from, to, p, t.TempDir(), deltas); err != nil {
			t.Fatal(err)
		}
		m, err := ReadManifest(ctx, to)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Verify(ctx, to); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSavepointIsNotWrittenOverAnother(t *testing.T) {
	from, to := memFiles(t), memFiles(t)
	p, deltas := savepointSource(t, from)
	if _, err := WriteSavepoint(t.Context(), from, to, p, t.TempDir(), deltas); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteSavepoint(t.Context(), from, to, p, t.TempDir(), deltas); err != nil {
		t.Errorf("the same again: %v", err)
	}
	p.Checkpoint++
	if _, err := WriteSavepoint(t.Context(), from, to, p, t.TempDir(), deltas); err == nil || !strings.Contains(err.Error(), "another savepoint") {
		t.Error(err)
	}
}

func TestDamagedSavepointNamesTheFile(t *testing.T) {
	ctx := t.Context()
	from := memFiles(t)
	p, deltas := savepointSource(t, from)
	dir := t.TempDir()
	to := dirFiles(t, dir)
	m, err := WriteSavepoint(ctx, from, to, p, t.TempDir(), deltas)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(name string, change func([]byte) []byte) func() {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(bytes.Clone(whole)), 0o644); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.WriteFile(path, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(b []byte) []byte { b[0] ^= 1; return b }
	for _, f := range m.Pointer.AllFiles() {
		mend := damage(f.Name, flip)
		if err := m.Verify(ctx, to); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("%s: %v", f.Name, err)
		}
		mend()
	}
	for what, change := range map[string]func([]byte) []byte{
		"an offset": func(b []byte) []byte { return bytes.Replace(b, []byte("1207"), []byte("1208"), 1) },
		"cut off":   func(b []byte) []byte { return b[:len(b)/2] },
		"empty":     func([]byte) []byte { return nil },
		"its ID":    func(b []byte) []byte { return bytes.Replace(b, []byte(p.Lineage), []byte("another"), 1) },
	} {
		mend := damage(ManifestName, change)
		if _, err := ReadManifest(ctx, to); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), ManifestName) {
			t.Errorf("%s: %v", what, err)
		}
		mend()
	}
	mend := damage(ManifestName, func(b []byte) []byte { return bytes.Replace(b, []byte(`"format": 1`), []byte(`"format": 9`), 1) })
	if _, err := ReadManifest(ctx, to); err == nil || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "format 9") {
		t.Error(err)
	}
	mend()
	if _, err := ReadManifest(ctx, memFiles(t)); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is not a savepoint") {
		t.Error(err)
	}
}

// A manifest of an earlier version is read by this one.
func TestManifestFormatIsFrozen(t *testing.T) {
	from, to := memFiles(t), memFiles(t)
	p, deltas := savepointSource(t, from)
	if _, err := WriteSavepoint(t.Context(), from, to, p, t.TempDir(), deltas); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := to.Store().Get(t.Context(), ManifestName, &got); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/manifest.golden"
	if *rewriteGolden {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the manifest has changed:\n%s", got.Bytes())
	}
	if _, err := decodeManifest(want); err != nil {
		t.Error(err)
	}
}

func dirFiles(t *testing.T, dir string) *Files {
	t.Helper()
	s, err := OpenStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return NewFiles(s, nil)
}

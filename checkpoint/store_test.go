package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Every kind of store keeps the same contract.
func TestStores(t *testing.T) {
	for name, location := range map[string]string{"directory": filepath.Join(t.TempDir(), "a", "b"), "memory": "mem://"} {
		t.Run(name, func(t *testing.T) { storeContract(t, location) })
	}
}

func storeContract(t *testing.T, location string) {
	ctx := t.Context()
	s, err := OpenStore(ctx, location)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(name, content string) error { return s.Put(ctx, name, strings.NewReader(content)) }
	get := func(name string) (string, error) {
		var b bytes.Buffer
		err := s.Get(ctx, name, &b)
		return b.String(), err
	}
	for _, name := range []string{"j/0/a/1.sst", "j/0/a/2.sst", "j/0/b/3.sst", "k"} {
		if err := put(name, "content of "+name); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := get("j/0/a/2.sst"); got != "content of j/0/a/2.sst" || err != nil {
		t.Error(got, err)
	}
	if err := put("j/0/a/2.sst", "another"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name is used twice: %v", err)
	}
	if got, _ := get("j/0/a/2.sst"); got != "content of j/0/a/2.sst" {
		t.Errorf("overwritten: %q", got)
	}
	if _, err := get("j/0/a/9.sst"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "j/0/a/9.sst") {
		t.Error(err)
	}
	for prefix, want := range map[string]string{"": "j/0/a/1.sst j/0/a/2.sst j/0/b/3.sst k", "j/0/": "j/0/a/1.sst j/0/a/2.sst j/0/b/3.sst", "j/0/a/2": "j/0/a/2.sst", "none/": ""} {
		list, err := s.List(ctx, prefix)
		var names []string
		for _, f := range list {
			names = append(names, f.Name)
			if want := int64(len("content of " + f.Name)); f.Size != want {
				t.Errorf("%s has %d bytes, want %d", f.Name, f.Size, want)
			}
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("list %q: %q, %v", prefix, got, err)
		}
	}
	for range 2 { // the second time it is not there any more, and that is fine
		if err := s.Delete(ctx, "k"); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]bool{"k": false, "j/0/a/1.sst": true} {
		if got, err := s.Exists(ctx, name); got != want || err != nil {
			t.Errorf("%s exists: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"../x", "/x", "a/../../x", "", "."} {
		if err := put(name, ""); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Put(ended, "late", strings.NewReader("x")); err == nil {
		t.Error("put after the context's end")
	}
	if ok, err := s.Exists(ctx, "late"); ok || err != nil {
		t.Error("half a file:", ok, err)
	}
}

func TestDirectoryThatCannotBeWrittenIsNamedWithTheCause(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := OpenStore(t.Context(), filepath.Join(file, "state"))
	if want := fmt.Sprintf("storage %s/state: cannot be written: not a directory", file); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if os.Getuid() == 0 {
		return // root may write anywhere
	}
	locked := t.TempDir()
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	err = CheckDirectory("local_dir", locked)
	if want := fmt.Sprintf("local_dir %s: cannot be written: permission denied", locked); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestUnknownStorageIsRefusedInOneLine(t *testing.T) {
	for location, want := range map[string]string{
		"":                      "storage: no directory and no URL",
		"ftp://user:secret@h/p": `storage ftp://h/p: unknown scheme "ftp": want a directory or s3://BUCKET/PATH`,
	} {
		if _, err := OpenStore(t.Context(), location); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", location, err, want)
		}
	}
}

// faulty fails the first calls to Put and Get, of each: before anything was done, or after the file was written.
type faulty struct {
	Store
	fails int
	late  bool
	err   error
}

func (f *faulty) fail() error {
	if f.fails > 0 {
		f.fails--
		return f.err
	}
	return nil
}

func (f *faulty) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	if f.late {
		if err := f.Store.Put(ctx, name, content); err != nil {
			return err
		}
		return f.fail()
	}
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.Put(ctx, name, content)
}

func (f *faulty) Get(ctx context.Context, name string, w io.Writer) error {
	if err := f.fail(); err != nil {
		_, _ = io.WriteString(w, "half of")
		return err
	}
	return f.Store.Get(ctx, name, w)
}

// Whichever calls fail and whether or not they had an effect: what is uploaded is there, once, and reads back.
func TestErrorsThatPassAreTriedAgain(t *testing.T) {
	for fails := range 4 {
		for _, late := range []bool{false, true} {
			mem := memFiles(t)
			retries := 0
			store := &faulty{Store: mem.Store(), fails: fails, late: late, err: errors.New("connection reset")}
			files := NewFiles(store, &Listener{OnStoreRetry: func(StoreRetryEvent) { retries++ }})
			name := func(h Hash) string { return FileName("j", 0, "a", 1, h, "delta") }
			file, err := files.UploadBytes(t.Context(), name, []byte("content"))
			if err != nil {
				t.Fatal(err)
			}
			store.fails = fails
			got, err := files.ReadVerified(t.Context(), file)
			if string(got) != "content" || err != nil {
				t.Errorf("%d fail, late %v: %q, %v", fails, late, got, err)
			}
			if fails > 0 && retries == 0 {
				t.Error("nobody was told")
			}
			path := filepath.Join(t.TempDir(), "x")
			store.fails = fails
			if err := files.Download(t.Context(), file, path); err != nil {
				t.Error(err)
			}
			if got, _ := os.ReadFile(path); string(got) != "content" {
				t.Errorf("downloaded %q", got)
			}
		}
	}
}

func TestTheCauseIsReportedWhenTheDeadlinePasses(t *testing.T) {
	cause := errors.New("connection reset")
	files := NewFiles(&faulty{Store: memFiles(t).Store(), fails: 1 << 30, err: cause}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := files.UploadBytes(ctx, Hash.String, []byte("x")); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestWhatDoesNotPassIsNotTriedAgain(t *testing.T) {
	for _, cause := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.EROFS} {
		store := &faulty{Store: memFiles(t).Store(), fails: 2, err: cause}
		if _, err := NewFiles(store, nil).UploadBytes(t.Context(), Hash.String, []byte("x")); !errors.Is(err, cause) || store.fails != 1 {
			t.Errorf("%v after %d calls", err, 2-store.fails)
		}
	}
}

// A user who sees nothing happen learns of a full disk within seconds, not when the checkpoint's timeout has passed.
func TestAFullDiskIsAnErrorWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := NewFiles(&faulty{Store: memFiles(t).Store(), fails: 1 << 30, err: syscall.ENOSPC}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		_, err := files.UploadBytes(ctx, Hash.String, []byte("x"))
		if took := time.Since(begin); !errors.Is(err, syscall.ENOSPC) || took < diskFullPatience || took > 5*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestAFileThatWasChangedIsNamed(t *testing.T) {
	dir := t.TempDir()
	store, err := OpenStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	files := NewFiles(store, nil)
	for i, damaged := range []string{"contenT", "content and more", "conten", ""} {
		file, err := files.UploadBytes(t.Context(), func(h Hash) string { return FileName("j", i, "a", 1, h, "sst") }, []byte("content"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file.Name), []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = files.ReadVerified(t.Context(), file)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), file.Name) {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

func TestUploadFileKeepsWhatTheLocalFileHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "000009.sst")
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	files := memFiles(t)
	file, err := files.UploadFile(t.Context(), func(h Hash) string { return FileName("j", 0, "a", 1, h, "sst") }, path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := files.ReadVerified(t.Context(), file)
	if err != nil || !bytes.Equal(got, content) || file.Size != int64(len(content)) {
		t.Error(len(got), err)
	}
	if AttemptOf(file.Name) != "a" || AttemptOf("manifest.json") != "" {
		t.Error(file.Name)
	}
}

// putLimit fails every Put after the first few, as a process that has died.
type putLimit struct {
	*faulty
	left int
}

func (l *putLimit) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	if l.left--; l.left < 0 {
		return l.err
	}
	return l.faulty.Store.Put(ctx, name, content)
}

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A local copy that went bad between a download and an upload is not written under the file's name.
func TestADamagedLocalCopyIsNotUploaded(t *testing.T) {
	ctx := t.Context()
	store, err := OpenStore(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	files := NewFiles(store, nil)
	file, err := files.UploadBytes(ctx, func(Hash) string { return "a" }, []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	file.Name = "b"
	copied := filepath.Join(t.TempDir(), "copy")
	for _, bad := range []string{"contenT", "content and more", ""} {
		if err := os.WriteFile(copied, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := files.UploadCopy(ctx, file, copied); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: got %v", bad, err)
		}
		if _, err := files.ReadVerified(ctx, file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: got %v of a file that must not be there", bad, err)
		}
	}
	if err := os.WriteFile(copied, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := files.UploadCopy(ctx, file, copied); err != nil {
		t.Error(err)
	}
	if b, err := files.ReadVerified(ctx, file); err != nil || string(b) != "content" {
		t.Errorf("got %q, %v", b, err)
	}
}

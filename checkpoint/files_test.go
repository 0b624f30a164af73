package checkpoint

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// A large file takes longer than a small one, and is not given up for that; a deadline of the caller's stays.
func TestAFileHasTimeForItsSize(t *testing.T) {
	for size, want := range map[int64]time.Duration{-1: callTimeout, 0: callTimeout, 1 << 20: callTimeout + time.Second, 1 << 30: callTimeout + 1024*time.Second} {
		before := time.Now()
		ctx, cancel := boundedBy(t.Context(), size)
		after := time.Now()
		if at, ok := ctx.Deadline(); !ok || at.Before(before.Add(want)) || at.After(after.Add(want)) {
			t.Errorf("%d bytes: until %s, want %s from %s on", size, at, want, before)
		}
		cancel()
	}
	soon, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Second))
	defer cancel()
	ctx, done := boundedBy(soon, 1<<40)
	defer done()
	want, _ := soon.Deadline()
	if got, _ := ctx.Deadline(); !got.Equal(want) {
		t.Errorf("the deadline of the caller was moved to %s", got)
	}
}

// lateStore refuses a name some times because there is a file, which cannot be read yet.
type lateStore struct {
	Store
	refusals int
	then     func()
}

func (s *lateStore) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	if s.refusals == 0 {
		return s.Store.Put(ctx, name, content)
	}
	if s.refusals--; s.refusals == 0 {
		defer s.then()
	}
	return fs.ErrExist
}

// Of two who write one name at one time, a store may refuse the second before the file of the first can be read.
func TestAFileThatAnotherIsWritingIsWaitedFor(t *testing.T) {
	for _, tc := range []struct {
		name, other string
		want        error
	}{
		{"another content", "of somebody else", ErrCorrupt},
		{"the same content", "ours", nil},
		{"it was given up", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store, err := OpenStore(t.Context(), "mem://")
			if err != nil {
				t.Fatal(err)
			}
			late := &lateStore{Store: store, refusals: 2, then: func() {
				if tc.other != "" {
					if err := store.Put(t.Context(), "name", strings.NewReader(tc.other)); err != nil {
						t.Error(err)
					}
				}
			}}
			_, err = NewFiles(late, nil).UploadBytes(t.Context(), func(Hash) string { return "name" }, []byte("ours"))
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

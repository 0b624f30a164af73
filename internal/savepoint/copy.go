package savepoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/checkpoint"
)

// copiers is how many files are copied at a time.
const copiers = 4

// Copied is what a copy or a rewriting has made.
type Copied struct {
	Location string `json:"location"`
	ID       string `json:"id"`
	// Files and Size, in bytes, are those of all that it consists of, its manifest too.
	Files int   `json:"files"`
	Size  int64 `json:"size"`
}

// Copy makes a copy of a savepoint in another place, with the same ID: to a start it is the same savepoint. Every file is
// verified by its hash when it is read and when it is written, and the manifest is written last, so that what is there is no
// savepoint before it is whole. It may be repeated: what is there already is verified and kept.
func Copy(ctx context.Context, from, to string) (*Copied, error) {
	s, err := Open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.write(ctx, to, s.Manifest)
}

// write copies the savepoint's files to another place and writes a manifest that lists them.
func (s *Savepoint) write(ctx context.Context, location string, m *checkpoint.Manifest) (*Copied, error) {
	store, err := checkpoint.OpenStore(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("savepoint %s: %w", location, err)
	}
	defer store.Close()
	if store.String() == s.Files.Store().String() {
		return nil, fmt.Errorf("savepoint %s: it is the same place as %s", location, s.Location)
	}
	to := checkpoint.NewFiles(store, nil)
	switch is, err := checkpoint.ReadManifest(ctx, to); {
	case err == nil && is.ID != m.ID:
		return nil, fmt.Errorf("savepoint %s: there is another savepoint already: %s, checkpoint %d of job %s", location, is.ID, is.Pointer.Checkpoint, is.Pointer.Job)
	case err == nil:
		m = is // the same one; its files are verified below
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("savepoint %s: %w", location, err)
	}
	local, err := os.MkdirTemp("", "weir-savepoint-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(local) // copies in passing
	out := &Copied{Location: location, ID: m.ID}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	for i, f := range m.Pointer.AllFiles() {
		out.Files++
		out.Size += f.Size
		group.Go(func() error {
			return copyFile(working, s.Files, to, f, filepath.Join(local, fmt.Sprint(i)))
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("copying savepoint %s to %s: %w", s.Location, location, err)
	}
	if err := checkpoint.WriteManifest(ctx, to, m); err != nil {
		return nil, err
	}
	manifest, err := manifestFile(ctx, store)
	if err != nil {
		return nil, err
	}
	out.Files++
	out.Size += manifest.Size
	return out, nil
}

// copyFile copies a file by way of a local one: it may be larger than what fits into memory.
func copyFile(ctx context.Context, from, to *checkpoint.Files, f checkpoint.File, local string) error {
	if err := from.Download(ctx, f, local); err != nil {
		return err
	}
	defer os.Remove(local) // make room for the next
	return to.UploadCopy(ctx, f, local)
}

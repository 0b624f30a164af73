// Package savepoint looks into savepoints, compares and changes them, on their files alone: no job has to run. A savepoint is
// a directory or a place in a bucket with a manifest ([checkpoint.Manifest]) and the files that it lists; it exists once its
// manifest does, and nothing in it is ever changed: what is changed is a new savepoint.
package savepoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/weirstream/weir/checkpoint"
)

// Savepoint is a savepoint whose manifest has been read and verified. Its files are verified when they are read.
type Savepoint struct {
	// Location is the directory or URL that it was opened by.
	Location string
	Manifest *checkpoint.Manifest
	Files    *checkpoint.Files

	store checkpoint.Store
}

// Open reads the manifest of a savepoint. The caller closes it. A directory that is not there is fs.ErrNotExist and is not
// made; one without a manifest is fs.ErrNotExist too, and the error says so.
func Open(ctx context.Context, location string) (*Savepoint, error) {
	if !strings.Contains(location, "://") {
		switch info, err := os.Stat(location); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("savepoint %s: there is no such directory: %w", location, fs.ErrNotExist)
		case err != nil:
			return nil, fmt.Errorf("savepoint %s: %w", location, err)
		case !info.IsDir():
			return nil, fmt.Errorf("savepoint %s: it is a file: name the directory that has the %s", location, checkpoint.ManifestName)
		}
	}
	store, err := checkpoint.OpenStoreToRead(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("savepoint %s: %w", location, err)
	}
	files := checkpoint.NewFiles(store, nil)
	m, err := checkpoint.ReadManifest(ctx, files)
	if err != nil {
		_ = store.Close()
		return nil, fmt.Errorf("savepoint: %w", err)
	}
	return &Savepoint{Location: location, Manifest: m, Files: files, store: store}, nil
}

// Pointer is what the savepoint holds: offsets, operators, states, files.
func (s *Savepoint) Pointer() *checkpoint.Pointer { return s.Manifest.Pointer }

// Close releases the store's connections.
func (s *Savepoint) Close() error { return s.store.Close() }

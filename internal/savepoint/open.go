// Package savepoint looks into savepoints, compares and changes them, on their files alone: no job has to run. A savepoint is
// a directory or a place in a bucket with a manifest ([checkpoint.Manifest]) and the files that it lists; it exists once its
// manifest does, and nothing in it is ever changed: what is changed is a new savepoint.
package savepoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/weirstream/weir/checkpoint"
)

// Savepoint is a savepoint whose manifest has been read and verified. Its files are verified when they are read.
type Savepoint struct {
	// Location is the directory or URL that it was opened by.
	Location string
	Manifest *checkpoint.Manifest
	Files    *checkpoint.Files
}

// Open opens a savepoint as [checkpoint.OpenSavepoint] does. The caller closes it.
func Open(ctx context.Context, location string) (*Savepoint, error) {
	m, files, err := checkpoint.OpenSavepoint(ctx, location, nil)
	if err != nil {
		return nil, err
	}
	return &Savepoint{Location: location, Manifest: m, Files: files}, nil
}

// manifestFile is the manifest as one of the files of a savepoint.
func manifestFile(ctx context.Context, store checkpoint.Store) (checkpoint.File, error) {
	var text bytes.Buffer
	if err := store.Get(ctx, checkpoint.ManifestName, &text); err != nil {
		return checkpoint.File{}, fmt.Errorf("savepoint %s: %w", store, err)
	}
	return checkpoint.File{Name: checkpoint.ManifestName, Size: int64(text.Len()), Hash: sha256.Sum256(text.Bytes())}, nil
}

// Pointer is what the savepoint holds: offsets, operators, states, files.
func (s *Savepoint) Pointer() *checkpoint.Pointer { return s.Manifest.Pointer }

// Close releases the store's connections.
func (s *Savepoint) Close() error { return s.Files.Store().Close() }

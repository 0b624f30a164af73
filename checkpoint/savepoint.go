package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// DeltaReader returns the bytes of a delta that is inside a pointer record.
type DeltaReader func(context.Context, Delta) ([]byte, error)

// WriteSavepoint makes a savepoint of a committed checkpoint: it copies every file that the pointer needs into the
// savepoint's directory, verified on the way, writes the deltas that are inside pointer records into files, and then the
// manifest. It may be repeated: what is there already is verified and kept, so recovery finishes what a crash
// interrupted. Local is a directory for copies in passing.
func WriteSavepoint(ctx context.Context, from, to *Files, p *Pointer, local string, deltas DeltaReader) (*Manifest, error) {
	switch m, err := ReadManifest(ctx, to); {
	case err == nil && m.ID == SavepointID(p):
		return m, nil
	case err == nil:
		return nil, fmt.Errorf("savepoint %s: there is another savepoint in %s already: %s", SavepointID(p), to.store, m.ID)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	out, err := copyState(ctx, from, to, p, local, deltas, func(h Hash, kind string) string { return h.String() + "." + kind })
	if err != nil {
		return nil, fmt.Errorf("savepoint %s: %w", SavepointID(p), err)
	}
	// These belong to the checkpoint as a record of the topic, not to the state that is kept.
	out.Savepoint, out.Unfinished, out.File = "", nil, nil
	m, err := NewManifest(out)
	if err != nil {
		return nil, err
	}
	return m, WriteManifest(ctx, to, m)
}

// AdoptSavepoint copies the files of a savepoint into the job's own store, under the names of the given attempt, and
// returns the pointer with these names. A lineage that begins from a savepoint does so before its first checkpoint, which
// then does not depend on the savepoint's directory. The same for an older checkpoint, whose files may be on their way out;
// its deltas are in files or inline.
func AdoptSavepoint(ctx context.Context, from, to *Files, m *Manifest, local, job string, shard int, attempt string, upload int64) (*Pointer, error) {
	out, err := copyState(ctx, from, to, m.Pointer, local, nil, func(h Hash, kind string) string { return FileName(job, shard, attempt, upload, h, kind) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", beginning(m.ID), err)
	}
	return out, nil
}

// copyState copies the files of base and deltas, and returns a copy of the pointer in which all of them are files of the
// other store.
func copyState(ctx context.Context, from, to *Files, p *Pointer, local string, deltas DeltaReader, name func(h Hash, kind string) string) (*Pointer, error) {
	out := *p
	if p.Base != nil {
		base := *p.Base
		base.Files = slices.Clone(p.Base.Files)
		for i, f := range base.Files {
			copied, err := copyFile(ctx, from, to, f, local, name)
			if err != nil {
				return nil, err
			}
			base.Files[i] = copied
		}
		out.Base = &base
	}
	out.Deltas = slices.Clone(p.Deltas)
	for i, d := range out.Deltas {
		var content []byte
		var err error
		switch {
		case d.File != nil:
			content, err = from.ReadVerified(ctx, *d.File)
		case d.Inline != nil:
			content = d.Inline
		default:
			content, err = deltas(ctx, d)
		}
		if err != nil {
			return nil, err
		}
		file, err := to.UploadBytes(ctx, func(h Hash) string { return name(h, "delta") }, content)
		if err != nil {
			return nil, err
		}
		if file.Hash != d.Hash {
			return nil, fmt.Errorf("delta of checkpoint %d: %w: its SHA-256 is %s instead of %s", d.Checkpoint, ErrCorrupt, file.Hash, d.Hash)
		}
		out.Deltas[i] = Delta{First: d.First, Checkpoint: d.Checkpoint, Size: d.Size, Hash: d.Hash, File: &file, Offset: -1}
	}
	return &out, nil
}

// copyFile copies one file of a base by way of a local one: it may be larger than what fits into memory.
func copyFile(ctx context.Context, from, to *Files, f File, local string, name func(h Hash, kind string) string) (File, error) {
	dir, err := os.MkdirTemp(local, "savepoint-")
	if err != nil {
		return File{}, err
	}
	defer os.RemoveAll(dir) // only a copy
	copied := filepath.Join(dir, f.Hash.String())
	if err := from.Download(ctx, f, copied); err != nil {
		return File{}, err
	}
	kind := path.Ext(f.Name)
	if kind == "" {
		kind = ".base"
	}
	out := f
	out.Name = name(f.Hash, kind[1:])
	return out, to.UploadCopy(ctx, out, copied)
}

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Left names the checkpoint that the lineage of a pointer has left behind: the last one before it began. Every pointer of the
// lineage carries it, so that its files stay and "--from checkpoint:ID" goes back to it, whatever checkpoint.retained says, until
// another lineage begins and leaves a newer one behind.
//
// File has its pointer, complete: base and deltas that are files are those that it had, and what was inside records of the
// checkpoint topic is inside the file. So no record of the topic has to stay for it: nothing but a prefix of the topic can be
// deleted, and all that follows would stay too, for as long as the lineage lives.
type Left struct {
	Checkpoint int64 `cbor:"checkpoint" json:"checkpoint"`
	File       File  `cbor:"file" json:"file"`
}

// leaving says which checkpoint a start of that kind leaves behind, nil for none, and which was left behind before: that one
// stays if the lineage goes on, or if what it leaves behind now cannot be restored.
func (s Start) leaving(kind ResolutionKind) (leaves *Pointer, left *Left) {
	if s.Last == nil {
		return nil, nil
	}
	switch kind {
	case ResolvedSavepoint, ResolvedFresh, ResolvedOffsets:
		if s.stays() {
			leaves = s.Last
		}
	}
	return leaves, s.Last.Left
}

// stays reports whether the last checkpoint is worth to be kept when it is left behind: something can go on from it.
func (s Start) stays() bool {
	return s.Damage == nil && (!s.Last.Final || s.Last.Drained)
}

// CompleteLeft makes the pointer of a checkpoint that is about to be left behind, for [WriteLeft]. p is its pointer, complete;
// listed are the files that the store has; deltas reads what is inside records of the topic. [IsGone] tells if something that
// the checkpoint needs is not there.
func CompleteLeft(ctx context.Context, files *Files, p *Pointer, listed []Stored, deltas DeltaReader) (*Pointer, error) {
	sizes := map[string]int64{}
	for _, s := range listed {
		sizes[s.Name] = s.Size
	}
	own := *p
	own.File, own.Left, own.Savepoint, own.Unfinished = nil, nil, "", nil
	for _, f := range own.AllFiles() {
		switch size, ok := sizes[f.Name]; {
		case !ok:
			return nil, &FileError{f.Name, fmt.Errorf("file %s is not in %s: %w", f.Name, files.Store(), fs.ErrNotExist)}
		case size != f.Size:
			return nil, &FileError{f.Name, fmt.Errorf("file %s in %s: %w: it has %d bytes instead of %d", f.Name, files.Store(), ErrCorrupt, size, f.Size)}
		}
	}
	own.Deltas = slices.Clone(p.Deltas)
	for i, d := range own.Deltas {
		if d.File != nil || d.Inline != nil {
			continue
		}
		content, err := deltas(ctx, d)
		if err != nil {
			return nil, fmt.Errorf("delta of checkpoint %d: %w", d.Checkpoint, err)
		}
		own.Deltas[i].Inline, own.Deltas[i].Offset = content, -1
	}
	return &own, nil
}

// WriteLeft stores a pointer that [CompleteLeft] made, as a file of the attempt that is to commit the checkpoint upload. It
// sets the pointer's File, as [LoadLeft] does.
func WriteLeft(ctx context.Context, files *Files, p *Pointer, attempt string, upload int64) (*Left, error) {
	content, err := EncodePointer(p)
	if err != nil {
		return nil, err
	}
	file, err := files.UploadBytes(ctx, func(h Hash) string { return FileName(p.Job, p.Shard, attempt, upload, h, "left") }, content)
	if err != nil {
		return nil, err
	}
	p.File = &file
	return &Left{Checkpoint: p.Checkpoint, File: file}, nil
}

// LoadLeft reads the pointer of a checkpoint that was left behind. Its File is the one that it was read from, so
// [Pointer.AllFiles] is all that it needs.
func LoadLeft(ctx context.Context, files *Files, l *Left) (*Pointer, error) {
	content, err := files.ReadVerified(ctx, l.File)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %d, which was left behind: %w", l.Checkpoint, err)
	}
	p, err := DecodePointer(content)
	if err == nil && p.Checkpoint != l.Checkpoint {
		err = fmt.Errorf("%w: it is that of checkpoint %d", ErrCorrupt, p.Checkpoint)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %d, which was left behind: file %s: %w", l.Checkpoint, l.File.Name, err)
	}
	p.File = &l.File
	return p, nil
}

// IsGone reports whether an error says that something of a checkpoint is not there any more, or is not what was written. It is
// stricter than [IsDamage]: a disk that cannot read, or access that is refused, may pass, and files are deleted for this.
func IsGone(err error) bool {
	return asStoreError(err) == nil && (errors.Is(err, ErrCorrupt) || errors.Is(err, fs.ErrNotExist))
}

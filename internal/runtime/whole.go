package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/weirstream/weir/checkpoint"
)

// quickly is how many bytes are read and hashed before a start fences anybody: a moment's work from a directory as from a
// bucket. Of more, existence and size are compared; the hashes are when the files are copied.
const quickly = 64 * checkpoint.MiB

// wholeToBegin refuses a start whose savepoint, or whose older checkpoint, is not whole, before anybody is fenced: a job that runs is
// not ended by a start that cannot succeed. p is what the start takes over of it: a state that is dropped needs no files.
func (a *attempt) wholeToBegin(ctx context.Context, p *checkpoint.Pointer) error {
	var size int64
	files := p.AllFiles()
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		size += f.Size
	}
	var findings []string
	var err error
	if size <= int64(quickly) {
		findings, err = a.brokenFiles(ctx, p)
	} else {
		findings, err = a.missingFiles(ctx, files)
	}
	if err != nil || len(findings) == 0 {
		return err
	}
	return &checkpoint.RefusedError{What: a.beginning(), Findings: findings}
}

// beginning names what the lineage is to begin from.
func (a *attempt) beginning() string {
	if a.savepointFiles == a.files {
		return fmt.Sprint("checkpoint ", a.savepoint.Pointer.Checkpoint)
	}
	return "savepoint " + a.savepoint.ID
}

// brokenFiles reads every file that a pointer needs, and the deltas that are inside records of the checkpoint topic, and says
// what is wrong with them. An error is a store that cannot be used.
func (a *attempt) brokenFiles(ctx context.Context, p *checkpoint.Pointer) (findings []string, err error) {
	files := p.AllFiles()
	if a.savepointFiles == nil { // a checkpoint, of a job whose storage is not there
		if len(files) > 0 {
			findings = append(findings, fmt.Sprintf("it needs %d files of checkpoint.storage, and there is no directory %s", len(files), a.cfg.Checkpoint.Storage))
		}
		return findings, nil
	}
	judge := func(err error) error {
		if err == nil {
			return nil
		}
		if !isDamage(err) {
			return err
		}
		findings = append(findings, err.Error())
		return nil
	}
	for _, f := range files {
		if err := judge(a.savepointFiles.Verify(ctx, f)); err != nil {
			return nil, err
		}
	}
	for _, d := range p.Deltas {
		if d.File != nil {
			continue
		}
		if _, err := a.readDelta(ctx, d, a.savepointFiles); judge(err) != nil {
			return nil, err
		}
	}
	return findings, nil
}

// missingFiles compares the files that are listed with those that are there, by name and size.
func (a *attempt) missingFiles(ctx context.Context, files []checkpoint.File) (findings []string, err error) {
	prefix := ""
	if a.savepointFiles == a.files {
		prefix = fmt.Sprintf("%s/%d/", a.cfg.Job, a.shard)
	}
	store := a.savepointFiles.Store()
	listed, err := store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, s := range listed {
		sizes[s.Name] = s.Size
	}
	for _, f := range files {
		switch size, ok := sizes[f.Name]; {
		case !ok:
			findings = append(findings, fmt.Sprintf("file %s is not in %s: %v", f.Name, store, fs.ErrNotExist))
		case size != f.Size:
			findings = append(findings, fmt.Sprintf("file %s in %s: %v: it has %d bytes instead of %d", f.Name, store, checkpoint.ErrCorrupt, size, f.Size))
		}
	}
	return findings, nil
}

// broken adds to what a comparison has found the files that are missing or damaged, all of them by their hashes.
func (f *Fit) broken(ctx context.Context, a *attempt, s checkpoint.Start) error {
	p := f.resolved.Pointer
	if f.err != nil {
		p = s.Savepoint
	}
	if p == nil {
		return nil // it begins empty
	}
	findings, err := a.brokenFiles(ctx, p)
	if err != nil {
		return fmt.Errorf("savepoint %s: %w", f.Savepoint, err)
	}
	f.Findings = append(f.Findings, findings...)
	return nil
}

var errNoSavepoint = errors.New("there is no savepoint to compare with")

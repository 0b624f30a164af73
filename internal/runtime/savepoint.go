package runtime

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
)

// savepointTimeout bounds the copy of a savepoint, whatever its size.
const savepointTimeout = time.Hour

// tryTimeout bounds the look at the place for a savepoint.
const tryTimeout = 20 * time.Second

// tryPlace finds out, before a checkpoint is taken for it or anything stops, that a savepoint cannot be written: its place
// cannot be opened for writing, or holds one already, which is fs.ErrExist.
func tryPlace(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	store, err := checkpoint.OpenStore(ctx, dir)
	if err != nil {
		return fmt.Errorf("savepoint %s: %w", dir, err)
	}
	defer func() { _ = store.Close() }() // nothing is written
	there, err := store.Exists(ctx, checkpoint.ManifestName)
	if err != nil {
		return fmt.Errorf("savepoint %s: %w", dir, err)
	}
	if there {
		return fmt.Errorf("savepoint %s: there is one already: name another directory (%w)", dir, fs.ErrExist)
	}
	return nil
}

// startSavepoint copies a committed checkpoint to the savepoint's directory beside the checkpoints that follow. Until it
// has a manifest, each pointer lists it, so that a recovery goes on with it. A copy that fails does not hurt the job.
func (a *attempt) startSavepoint(s checkpoint.Savepoint) {
	a.unfinished = append(a.unfinished, s)
	a.group.Go(func() error {
		a.cfg.Fault.At(fault.SavepointBegun)
		m, err := a.copySavepoint(a.ctx, s)
		a.cfg.Fault.At(fault.SavepointWritten)
		if a.ctx.Err() != nil {
			return context.Cause(a.ctx)
		}
		ev := checkpoint.SavepointEvent{Checkpoint: s.Checkpoint, Directory: s.Directory, Err: err}
		if err == nil {
			ev.ID = m.ID
			for _, f := range m.Pointer.AllFiles() {
				ev.Bytes += f.Size
			}
			a.logger.Info("savepoint complete", "checkpoint", s.Checkpoint, "savepoint", s.Directory, "id", m.ID)
		} else {
			a.logger.Error("the savepoint was not written", "checkpoint", s.Checkpoint, "savepoint", s.Directory, "error", err)
		}
		a.cfg.Listener.OnSavepoint(ev)
		select {
		case a.savepointsDone <- s:
		case <-a.ctx.Done():
		}
		a.coord.send(savepointDone{s.Checkpoint, err})
		return nil
	})
}

func (a *attempt) copySavepoint(ctx context.Context, s checkpoint.Savepoint) (*checkpoint.Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, savepointTimeout)
	defer cancel()
	logged, err := a.log.At(ctx, s.Offset)
	if err != nil {
		return nil, err
	}
	p, err := checkpoint.LoadPointer(ctx, a.files, logged.Value)
	if err != nil {
		return nil, err
	}
	if p.Checkpoint != s.Checkpoint {
		return nil, fmt.Errorf("%w: the pointer at offset %d is that of checkpoint %d", checkpoint.ErrCorrupt, s.Offset, p.Checkpoint)
	}
	to, err := checkpoint.OpenStore(ctx, s.Directory)
	if err != nil {
		return nil, err
	}
	defer func() { _ = to.Close() }()
	from, copies := a.files, a.filesOf(to)
	if a.coord != nil && a.coord.standsAt(s.Checkpoint) { // a job that reads nothing meanwhile
		from = a.filesOf(a.files.Store())
		from.Patience, copies.Patience = a.cfg.Checkpoint.Timeout, a.cfg.Checkpoint.Timeout
	}
	return checkpoint.WriteSavepoint(ctx, from, copies, p, filepath.Join(a.cfg.Checkpoint.LocalDir, a.cfg.Job),
		func(ctx context.Context, d checkpoint.Delta) ([]byte, error) { return a.readDelta(ctx, d, a.files) })
}

// settleSavepoints takes savepoints that are complete, or have failed, off the list that pointers carry.
func (a *attempt) settleSavepoints() {
	for {
		select {
		case s := <-a.savepointsDone:
			a.unfinished = slices.DeleteFunc(a.unfinished, func(u checkpoint.Savepoint) bool { return u == s })
		default:
			return
		}
	}
}

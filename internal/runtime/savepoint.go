package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
)

// request says what the start asks for, and reads the savepoint that it names. Only a process that has committed nothing
// yet asks: a restart goes on.
func (a *attempt) request(ctx context.Context, last *checkpoint.Pointer) (checkpoint.Request, *checkpoint.Pointer, error) {
	s := a.cfg.Start
	r := checkpoint.Request{}
	switch {
	case a.job.ran.Load():
		return r, nil, nil
	case s.From != "" && s.Fresh:
		return r, nil, &OptionError{errors.New("a start is either from a savepoint or fresh, not both")}
	case s.Fresh:
		r = checkpoint.Request{Kind: checkpoint.RequestFresh, ID: s.FreshName}
	case strings.HasPrefix(s.From, checkpoint.FromCheckpointPrefix):
		id, err := checkpoint.ParseCheckpoint(s.From)
		if err != nil {
			return r, nil, &OptionError{err}
		}
		r = checkpoint.FromCheckpoint(id)
		if s.Again {
			r.Again = a.job.id
		}
		if last != nil && r.CarriedOut(last.Request) {
			return r, nil, nil // it need not be there any more
		}
		// Read anew after the fencing: what is retained may have moved on.
		if a.savepoint, err = a.earlier(ctx, last, id); err != nil {
			return r, nil, err
		}
		return r, a.savepoint.Pointer, nil
	case s.From != "":
		m, err := a.savepoint, error(nil)
		if m == nil {
			m, err = a.readSavepoint(ctx, s.From)
		}
		if errors.Is(err, fs.ErrNotExist) && last != nil && last.From == s.From && !s.Again {
			// The lineage began from it, and needs it no more.
			return r, nil, nil
		}
		if err != nil {
			return r, nil, &checkpoint.RefusedError{What: "savepoint", Findings: []string{err.Error()}}
		}
		a.savepoint = m
		r = checkpoint.Request{Kind: checkpoint.RequestFrom, ID: m.ID}
	}
	if s.Again && r.Kind != checkpoint.RequestNone {
		r.Again = a.job.id
	}
	if a.savepoint != nil {
		return r, a.savepoint.Pointer, nil
	}
	return r, nil, nil
}

func (a *attempt) readSavepoint(ctx context.Context, from string) (*checkpoint.Manifest, error) {
	if !strings.Contains(from, "://") {
		if _, err := os.Stat(from); err != nil { // opening a store would make the directory
			return nil, err
		}
	}
	store, err := checkpoint.OpenStore(ctx, from)
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, func() { _ = store.Close() })
	a.savepointFiles = a.filesOf(store)
	return checkpoint.ReadManifest(ctx, a.savepointFiles)
}

// from is what the pointers of the lineage say of the savepoint that it began from.
func (a *attempt) from(res *checkpoint.Resolution) string {
	switch {
	case res.Kind == checkpoint.ResolvedSavepoint:
		return a.cfg.Start.From
	case res.Pointer != nil:
		return res.Pointer.From
	}
	return ""
}

// savepointTimeout bounds the copy of a savepoint, whatever its size.
const savepointTimeout = time.Hour

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
	return checkpoint.WriteSavepoint(ctx, a.files, a.filesOf(to), p, filepath.Join(a.cfg.Checkpoint.LocalDir, a.cfg.Job),
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

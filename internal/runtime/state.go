package runtime

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/pebblestate"
)

// openState opens the keyed state at the pointer that was decided on, and makes a.last refer to it in the job's own
// storage.
func (a *attempt) openState(ctx context.Context, res *checkpoint.Resolution) error {
	from := res.Pointer
	if res.Kind == checkpoint.ResolvedOffsets {
		from = nil // it has no state, and its number means nothing to this lineage
	}
	if !a.stateful(from) {
		return nil
	}
	if res.Kind != checkpoint.ResolvedSavepoint {
		taken, err := a.takeAhead(ctx, from)
		if err != nil && from != nil {
			err = a.whose(from, a.files, err)
		}
		if taken && from != nil {
			a.keep(from)
		}
		if taken || err != nil {
			return err
		}
	}
	again := ""
	if a.ahead != nil {
		a.ahead.drop()
		again = "-again" // Pebble may still be opening the other directory
		a.readBefore = a.ahead.readBefore()
		a.ahead.deltas = nil
		defer func() { a.readBefore = nil }()
	}
	opts, err := a.stateOptions()
	if err != nil {
		return err
	}
	opts.Dir += again
	var restore pebblestate.Restore
	if from != nil {
		files := a.files
		if res.Kind == checkpoint.ResolvedSavepoint {
			files = a.savepointFiles
		}
		if restore, err = a.readState(ctx, from, files, readers); err != nil {
			return a.whose(from, files, err)
		}
		a.laps.end("read")
		if res.Kind == checkpoint.ResolvedSavepoint {
			if err := a.adopt(ctx, from, &restore); err != nil {
				return a.whose(from, files, err)
			}
		} else {
			a.keep(from)
		}
	}
	if a.backend, err = pebblestate.Open(ctx, opts, restore); err != nil {
		if from != nil {
			return a.whose(from, a.files, fmt.Errorf("restore: checkpoint %d: %w", from.Checkpoint, err))
		}
		return fmt.Errorf("restore: %w", err)
	}
	a.useState(a.backend, opts.Dir)
	return nil
}

// stateful reports whether there is keyed state: the job has some, or the pointer that it begins from.
func (a *attempt) stateful(from *checkpoint.Pointer) bool {
	return slices.ContainsFunc(a.graph.Nodes, func(n *Node) bool { return n.Keyed }) || from != nil && (from.Base != nil || len(from.Deltas) > 0)
}

// useState makes an opened state the attempt's, which closes it and removes its working directory.
func (a *attempt) useState(b *pebblestate.Backend, dir string) {
	a.backend = b
	a.closers = append(a.closers, func() {
		if err := b.Close(); err != nil {
			a.logger.Warn("closing the local state", "error", err)
		}
		_ = os.RemoveAll(dir)
	})
}

// whose says of damage in the job's own storage which checkpoint it is that cannot be restored.
func (a *attempt) whose(from *checkpoint.Pointer, files *checkpoint.Files, err error) error {
	if files != a.files || !isDamage(err) {
		return err
	}
	return a.damaged(from.Checkpoint, err)
}

// stateOptions gives the attempt a working directory of its own, since a process that takes over must not wait for the one
// before, and removes those that nobody uses any more.
func (a *attempt) stateOptions() (pebblestate.Options, error) {
	c := a.cfg.Checkpoint
	dir := filepath.Join(c.LocalDir, a.cfg.Job, fmt.Sprint(a.shard))
	attempts := filepath.Join(dir, "attempts")
	if err := os.MkdirAll(attempts, 0o755); err != nil {
		return pebblestate.Options{}, fmt.Errorf("local directory: %w", err)
	}
	// Beside the opening: a recovery need not wait until the disk has let go of a large state.
	a.aside.do(func(ctx context.Context) { removeLeft(ctx, attempts) })
	return pebblestate.Options{
		Dir: filepath.Join(attempts, a.id), CacheDir: filepath.Join(dir, "cache"), CacheBytes: int64(c.Memory) / 8,
		Logger: a.logger, Fault: a.cfg.Fault,
	}, nil
}

// removeLeft removes the directories that earlier attempts have left and nobody uses, until the context ends. What cannot be removed
// stays: the next attempt tries again.
func removeLeft(ctx context.Context, attempts string) {
	old, err := os.ReadDir(attempts)
	if err != nil {
		return
	}
	for _, e := range old {
		path := filepath.Join(attempts, e.Name())
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // another process may be about to lock it
		}
		lock, err := pebble.LockDirectory(path, vfs.Default)
		if err != nil {
			continue
		}
		err = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				_ = os.Remove(path)
			}
			return ctx.Err()
		})
		if err == nil {
			_ = os.RemoveAll(path)
		}
		_ = lock.Close()
	}
}

// readers is how many deltas are read at a time.
const readers = 8

// readState fetches and verifies the deltas of a pointer, at most so many at a time, and says where its base is.
func (a *attempt) readState(ctx context.Context, p *checkpoint.Pointer, files *checkpoint.Files, at int) (pebblestate.Restore, error) {
	r := pebblestate.RestoreOf(p, files.DownloadTo)
	r.Deltas = make([]pebblestate.Delta, len(p.Deltas))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(at)
	for i, d := range p.Deltas {
		g.Go(func() error {
			repr, err := a.readDelta(ctx, d, files)
			if err != nil {
				return fmt.Errorf("restore: checkpoint %d: delta of checkpoint %d: %w", p.Checkpoint, d.Checkpoint, err)
			}
			a.cfg.Fault.At(fault.DeltaRead)
			r.Deltas[i] = pebblestate.Delta{First: d.First, Checkpoint: d.Checkpoint, Repr: repr}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return r, err
	}
	return r, nil
}

func (a *attempt) readDelta(ctx context.Context, d checkpoint.Delta, files *checkpoint.Files) ([]byte, error) {
	repr := d.Inline
	switch {
	case repr != nil:
	case a.readBefore[d.Hash] != nil:
		return a.readBefore[d.Hash], nil
	case d.File != nil:
		return files.ReadVerified(ctx, *d.File)
	default:
		logged, err := a.log.At(ctx, d.Offset)
		if err != nil {
			return nil, err
		}
		if repr, err = checkpoint.InlineDelta(logged.Value, d); err != nil {
			return nil, fmt.Errorf("topic %s partition %d offset %d: %w", a.log.Topic(), a.shard, d.Offset, err)
		}
	}
	if got := sha256.Sum256(repr); got != d.Hash {
		return nil, fmt.Errorf("%w: topic %s partition %d offset %d: its SHA-256 is %x instead of %x",
			checkpoint.ErrCorrupt, a.log.Topic(), a.shard, d.Offset, got, d.Hash)
	}
	return repr, nil
}

// keep goes on from the state of the job's own last pointer.
func (a *attempt) keep(p *checkpoint.Pointer) {
	a.last.Base = p.Base
	for _, d := range p.Deltas {
		if d.Inline != nil {
			d.Inline, d.Offset = nil, a.lastOffset
		}
		a.last.Deltas = append(a.last.Deltas, d)
	}
}

// adopt copies the state of a savepoint into the job's own storage, so that the job does not depend on what the user does
// with the savepoint. Checkpoint IDs of another lineage mean nothing in this one: what is restored counts as changed by
// the attempt's own first checkpoint.
func (a *attempt) adopt(ctx context.Context, from *checkpoint.Pointer, r *pebblestate.Restore) error {
	p := *from
	p.Deltas = slices.Clone(p.Deltas)
	for i, d := range p.Deltas {
		if d.File == nil {
			p.Deltas[i].Inline = r.Deltas[i].Repr
		}
	}
	own, err := checkpoint.AdoptSavepoint(ctx, a.savepointFiles, a.files, &checkpoint.Manifest{ID: a.savepoint.ID, Pointer: &p}, a.cfg.Checkpoint.LocalDir, a.cfg.Job, a.shard, a.id, a.last.Checkpoint)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	a.cfg.Fault.At(fault.SavepointCopied)
	id := a.last.Checkpoint
	r.Checkpoint = id
	for i := range r.Deltas {
		r.Deltas[i].First, r.Deltas[i].Checkpoint = id, id
	}
	for i := range own.Deltas {
		own.Deltas[i].First, own.Deltas[i].Checkpoint = id, id
	}
	if own.Base != nil {
		own.Base.Checkpoint = id
	}
	a.last.Base, a.last.Deltas = own.Base, own.Deltas
	return nil
}

// fileName names a file of this attempt that is written for a checkpoint.
func (a *attempt) fileName(id int64, kind string) func(checkpoint.Hash) string {
	return func(h checkpoint.Hash) string { return checkpoint.FileName(a.cfg.Job, a.shard, a.id, id, h, kind) }
}

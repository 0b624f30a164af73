package pebblestate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// BaseFiles is a base: the files of a Pebble database that holds the changes of all checkpoints up to Checkpoint. They
// stay as they are, hard links in a directory of their own, until Release.
type BaseFiles struct {
	Checkpoint int64
	Files      []BaseFile
	// New is those that the base before does not have.
	New []BaseFile

	dir string
}

// entryRoom is how many bytes a memtable needs for one of a batch, if entries are small.
const entryRoom = 3

// batchBytes is how much goes to Pebble in one write.
const batchBytes = 1 << 20

// WriteBase writes the changes of the checkpoints up to upTo to Pebble, sorted and once a key, links its tables into a
// directory and hashes those that are new. It moves Applied on, and drops those deltas and the overlay. Later deltas may
// be there and be added meanwhile. Any error ends the attempt: it comes within BaseTimeout, also if the disk is full,
// which Pebble waits out for ever.
func (b *Backend) WriteBase(ctx context.Context, upTo int64) (base BaseFiles, err error) {
	b.base.Lock()
	defer b.base.Unlock()
	b.BeginBase(upTo)
	if err := b.Err(); err != nil {
		return base, fmt.Errorf("base: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.opts.BaseTimeout, fmt.Errorf("it took longer than %s", b.opts.BaseTimeout))
	defer cancel()

	b.mu.Lock()
	n := 0
	for n < len(b.deltas) && b.deltas[n].Checkpoint <= upTo {
		n++
	}
	base.Checkpoint = upTo
	if n < len(b.deltas) && b.deltas[n].First <= upTo {
		base.Checkpoint = b.deltas[n].First - 1 // a merged delta goes as a whole
	}
	deltas := slices.Clone(b.deltas[:n])
	b.pinned = n
	b.mu.Unlock()
	b.bases++
	base.dir = b.opts.FS.PathJoin(b.opts.Dir, fmt.Sprintf("base-%d", b.bases))

	if err := b.use(); err != nil {
		return base, err
	}
	finished, unwritten := make(chan error, 1), make(chan struct{})
	b.unwritten = unwritten
	b.done()
	go func() {
		defer close(unwritten)
		finished <- b.fill(ctx, deltas, base.dir)
	}()
	select {
	case err = <-finished:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-b.broken.failed:
		err = b.Err()
	}
	if err == nil {
		err = b.Err()
	}
	if err == nil {
		err = b.list(ctx, &base)
	}
	if err != nil {
		err = fmt.Errorf("base: %w", err)
		b.broken.fail(err)
		return base, err
	}

	// In this order: who sees the new Applied reads Pebble. A base that lacks some of what was restored leaves the overlay.
	if base.Checkpoint >= b.restored {
		b.overlay.Store(nil)
		b.overlaid.Store(0)
		b.applied.Store(max(base.Checkpoint, b.applied.Load()))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deltas, b.pinned, b.hasBase = slices.Clone(b.deltas[len(deltas):]), 0, true
	return base, nil
}

// fill writes the deltas to Pebble and links its tables into dir. Where Pebble panics because a directory cannot be
// synced, that is an error of the disk like any other.
func (b *Backend) fill(ctx context.Context, deltas []Delta, dir string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("pebble: %v", p)
		}
	}()
	if err := b.purge(ctx); err != nil {
		return err
	}
	w := baseWriter{b: b, lastState: -1}
	err = lastInOrder(deltas, sortAtOnce, b.absent, func(some *changes) error { return w.write(ctx, some) })
	if err != nil {
		return err
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	return b.db.Checkpoint(dir)
}

// flush waits until Pebble has tables of all that it was given, or until it has broken down.
func (b *Backend) flush(ctx context.Context) error {
	flushed, err := b.db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.broken.failed:
		return b.Err()
	}
}

// baseWriter writes the changes of a base to Pebble.
type baseWriter struct {
	b *Backend
	// lastState is the state of the last change that was no deletion; unflushed is how many bytes were written since the last
	// flush.
	lastState int
	unflushed int64
}

// write gives changes to Pebble in batches that fit into its memtable. It waits for one memtable to be flushed before it
// begins another: Pebble would take in everything at once, in memory that nobody has foreseen.
func (w *baseWriter) write(ctx context.Context, all *changes) error {
	b := w.b
	limit := int(min(batchBytes, b.memTable/4))
	for i := 0; i < all.len(); {
		if err := errors.Join(context.Cause(ctx), b.Err()); err != nil {
			return err
		}
		if w.unflushed > b.memTable/entryRoom {
			if err := b.flush(ctx); err != nil {
				return err
			}
			w.unflushed = 0
		}
		batch := b.db.NewBatchWithSize(limit + limit/8)
		for ; i < all.len() && batch.Len() < limit; i++ {
			c := all.at(i)
			_, state, _, _, err := splitKey(c.key)
			if err != nil {
				return errors.Join(err, batch.Close())
			}
			if b.drops(c.key) {
				continue
			}
			if !c.deleted && int(state) != w.lastState {
				b.setPresent(state)
				w.lastState = int(state)
			}
			if !c.deleted {
				b.addKey(c.key)
				err = batch.Set(c.key, c.value, nil)
			} else if b.hasBase && !b.absent(c.key) {
				err = batch.Delete(c.key, nil)
			}
			if err != nil {
				return errors.Join(err, batch.Close())
			}
		}
		w.unflushed += int64(batch.Len())
		if err := errors.Join(b.db.Apply(batch, pebble.NoSync), batch.Close()); err != nil {
			return err
		}
	}
	return nil
}

// list names, sizes and hashes the files of the base. Tables never change, so each is read once in its life.
func (b *Backend) list(ctx context.Context, base *BaseFiles) error {
	fs := b.opts.FS
	names, err := fs.List(base.dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	hashes := make(map[string]BaseFile, len(names))
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		path := fs.PathJoin(base.dir, name)
		f, known := b.hashes[name]
		if !known || !isTable(name) {
			if f, err = hashFile(fs, path); err != nil {
				return err
			}
			f.Name = name
			known = known && b.hashes[name] == f
		}
		hashes[name] = f
		f.Path = path
		base.Files = append(base.Files, f)
		if !known {
			base.New = append(base.New, f)
		}
	}
	b.keep(base.Files, b.hashes)
	b.hashes = hashes
	return nil
}

// Release removes the links of a base, once it is stored or given up.
func (b *Backend) Release(base BaseFiles) error {
	if base.dir == "" || b.closing.Load() {
		return nil
	}
	return b.opts.FS.RemoveAll(base.dir)
}

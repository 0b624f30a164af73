package pebblestate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirstream/weir/stream"
)

// Restore is the state to begin with; zero is none.
type Restore struct {
	// Checkpoint is the checkpoint that is restored.
	Checkpoint int64
	// Base is the files of the base, nil if the checkpoint has none. Fetch copies one of them from the checkpoint's storage; it
	// is called from several goroutines.
	Base  []BaseFile
	Fetch Fetch
	// Deltas are the changes since the base, oldest first; First may be left zero.
	Deltas []Delta
	// States are the states that the checkpoint has.
	States []State
	// Dropped are the numbers of states that it had and that were dropped: Base and Deltas may have entries of them.
	Dropped []uint16
	// Beside says that something else is done meanwhile that waits for the network: not every core is used.
	Beside bool
}

// Backend is the keyed state of a shard. See the package comment for who may call what.
type Backend struct {
	opts   Options
	states *states
	broken *breakdown
	lock   *pebble.Lock
	db     *pebble.DB
	// compactions is the database's.
	compactions *compactions
	// dropped are numbers of states whose entries are to go, ascending; purged: Pebble has none of them any more.
	dropped []uint16
	purged  bool
	// looking: nothing will be written, so nothing is compacted either.
	looking bool
	// leftBehind: Pebble has not come to an end of opening the directory, and still uses it.
	leftBehind bool
	// memTable is the size of Pebble's memtable in bytes.
	memTable int64
	// users holds those who use db off until it is closed; closing is set before.
	users   sync.RWMutex
	closing atomic.Bool

	overlay atomic.Pointer[overlay] // what was restored and no base has yet
	// overlaid is the number of entries in it.
	overlaid atomic.Int64
	present  [1 << 16 / 64]atomic.Uint64
	applied  atomic.Int64
	// keys is what is known of the keys in Pebble; keysMu is of those who add to it.
	keys   *keySet
	keysMu sync.Mutex
	// keysKnown: keys has all of them.
	keysKnown atomic.Bool
	// misses counts what Pebble was asked for and does not have, while its keys are not known.
	misses atomic.Int64
	// restored is the checkpoint that the attempt began with.
	restored int64
	// lastDelta is the size that the next delta is likely to have, in bytes, and lastChanges the number of its changes.
	lastDelta, lastChanges atomic.Int64

	mu      sync.Mutex // of deltas, pinned, hasBase, begun
	deltas  []Delta
	pinned  int // the first deltas are being written to a base
	hasBase bool
	begun   int64 // the last checkpoint whose changes were restored or are in a base, or will be in the one that has begun

	base      sync.Mutex // one base at a time
	bases     int        // made in this directory
	hashes    map[string]BaseFile
	unwritten chan struct{} // closed when no goroutine writes to db any more
}

// Open begins an attempt: it empties the directory, fetches and verifies the base, opens it and makes the deltas
// readable. Errors wrap [ErrCorrupt] if what was restored is not what was written; nothing is left open then.
func Open(ctx context.Context, opts Options, restore Restore) (*Backend, error) {
	return openBackend(ctx, opts, restore, false)
}

func openBackend(ctx context.Context, opts Options, restore Restore, looking bool) (*Backend, error) {
	b, err := newBackend(opts, restore, looking)
	if err != nil {
		return nil, err
	}
	if err := b.restore(ctx, restore); err != nil {
		return nil, err
	}
	b.compactions.begin()
	return b, nil
}

// newBackend makes one that has nothing on the disk yet.
func newBackend(opts Options, restore Restore, looking bool) (b *Backend, err error) {
	opts.EnsureDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	b = &Backend{opts: opts, looking: looking, hashes: make(map[string]BaseFile), unwritten: make(chan struct{}), compactions: newCompactions()}
	b.keys = newKeySet(opts.CacheBytes / 8 * 3)
	b.keysKnown.Store(restore.Base == nil)
	b.dropped = slices.Compact(slices.Sorted(slices.Values(restore.Dropped)))
	close(b.unwritten)
	b.broken = newBreakdown(opts.Logger)
	b.states, err = newStates(restore.States, b.dropped)
	return b, err
}

// restore puts the base into the directory, opens it and makes the deltas readable. After an error nothing is left open.
func (b *Backend) restore(ctx context.Context, restore Restore) (err error) {
	opts := b.opts
	building := startOverlay(ctx, restore, b.drops)
	defer building.wait() // also if something else fails
	if err := opts.FS.MkdirAll(opts.Dir, 0o755); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if b.lock, err = pebble.LockDirectory(opts.Dir, opts.FS); err != nil {
		return fmt.Errorf("state directory %s: %w: another process may use it", opts.Dir, err)
	}
	defer func() {
		if err != nil && !b.leftBehind {
			err = errors.Join(err, b.lock.Close())
		}
	}()
	if err := b.clean(); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if restore.Base != nil {
		if err := placeBase(ctx, opts, b.dbDir(), restore.Base, restore.Fetch); err != nil {
			return err
		}
		for _, f := range restore.Base {
			b.hashes[f.Name] = f
		}
		b.hasBase = true
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	overlay, err := building.wait()
	if err != nil {
		return errors.Join(err, b.db.Close())
	}
	for _, state := range overlay.present {
		b.setPresent(state)
	}
	if err := b.findPresent(restore.States); err != nil {
		return errors.Join(err, b.db.Close())
	}
	if overlay.len() > 0 {
		b.overlay.Store(overlay)
		b.overlaid.Store(int64(overlay.len()))
	}
	last := int64(0)
	for _, d := range restore.Deltas {
		if d.First == 0 {
			d.First = last + 1 // the checkpoints between had no changes
		}
		b.deltas, last = append(b.deltas, d), d.Checkpoint
	}
	b.restored = restore.Checkpoint
	if restore.Base != nil || len(restore.Deltas) > 0 {
		b.begun = restore.Checkpoint
	}
	b.applied.Store(restore.Checkpoint)
	return nil
}

func (b *Backend) dbDir() string { return b.opts.FS.PathJoin(b.opts.Dir, "db") }

// clean removes what an earlier attempt left, all but the lock.
func (b *Backend) clean() error {
	names, err := b.opts.FS.List(b.opts.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == "LOCK" {
			continue
		}
		if err := b.opts.FS.RemoveAll(b.opts.FS.PathJoin(b.opts.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// corruptIf marks Pebble's corruption errors as ours.
func corruptIf(err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// StateID returns the number of a state; subtasks of one operator share it. The error wraps [ErrMismatch].
func (b *Backend) StateID(operator string, desc StateDesc) (uint16, error) {
	return b.states.id(operator, desc)
}

// States lists all states, restored and new, for the pointer.
func (b *Backend) States() []State { return b.states.all() }

// Applied is the newest checkpoint whose changes can all be read here.
func (b *Backend) Applied() int64 { return b.applied.Load() }

// Lacks says what is not found here, now or after any base, beside what was deleted at or before Applied: the entries that
// were new after checkpoint since and were deleted at or before checkpoint upTo. No base that has begun has them, and one that
// begins later has their deletion, as it is of all deltas that there are.
func (b *Backend) Lacks() (since, upTo int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begun, b.lastAdded()
}

// lastAdded is the last checkpoint with changes that are here. The lock is held.
func (b *Backend) lastAdded() int64 {
	last := b.Applied()
	if n := len(b.deltas); n > 0 {
		last = max(last, b.deltas[n-1].Checkpoint)
	}
	return last
}

// BeginBase must be called before a delta of a checkpoint after upTo is added, if [Backend.WriteBase] will make a base up to it:
// from then on [Backend.Lacks] knows what that base has.
func (b *Backend) BeginBase(upTo int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = max(b.begun, upTo)
}

// Empty reports that nothing of a state can be read here.
func (b *Backend) Empty(state uint16) bool {
	return b.present[state/64].Load()&(1<<(state%64)) == 0
}

func (b *Backend) setPresent(state uint16) { b.present[state/64].Or(1 << (state % 64)) }

// findPresent looks for the restored states in the base.
func (b *Backend) findPresent(restored []State) error {
	if !b.hasBase {
		return nil
	}
	it, err := b.db.NewIter(nil)
	if err != nil {
		return corruptIf(err)
	}
	for _, s := range restored {
		for group := 0; b.Empty(s.ID); {
			if !it.SeekGE(appendState(nil, stream.KeyGroup(group), s.ID)) {
				break
			}
			found, state, _, _, err := splitKey(it.Key())
			if err != nil {
				return errors.Join(err, it.Close())
			}
			if state == s.ID {
				b.setPresent(state)
			}
			if group = int(found); state > s.ID {
				group++
			}
			if group > 1<<16-1 {
				break
			}
		}
	}
	return corruptIf(errors.Join(it.Error(), it.Close()))
}

// Err is the error that Pebble met in the background, nil if there is none; Failed is closed when there is one. The
// attempt must end then.
func (b *Backend) Err() error              { return b.broken.Err() }
func (b *Backend) Failed() <-chan struct{} { return b.broken.failed }

// Close waits for readers and closes Pebble, both within CloseTimeout, and empties the directory. Past it, which takes a
// disk that does not answer, Pebble's goroutines are left behind, the directory stays locked, and the error says so:
// closing a database in use would crash the process. A second Close does nothing.
func (b *Backend) Close() error {
	if b.closing.Swap(true) {
		return nil
	}
	done := make(chan error, 1)
	go func() {
		b.users.Lock()
		defer b.users.Unlock()
		<-b.unwritten
		done <- errors.Join(b.db.Close(), b.clean(), b.lock.Close())
	}()
	timeout := time.NewTimer(b.opts.CloseTimeout)
	defer timeout.Stop()
	select {
	case err := <-done:
		return err
	case <-timeout.C:
		return fmt.Errorf("closing state: Pebble is still busy after %s and is left behind", b.opts.CloseTimeout)
	}
}

// use begins a read or a write of db; done ends it.
func (b *Backend) use() error {
	if b.closing.Load() || !b.users.TryRLock() {
		return ErrClosed
	}
	return nil
}

func (b *Backend) done() { b.users.RUnlock() }

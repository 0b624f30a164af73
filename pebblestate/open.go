package pebblestate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

func (b *Backend) open(ctx context.Context) error {
	b.memTable = min(max(b.opts.CacheBytes/8, 1<<20), 64<<20)
	opts := &pebble.Options{
		FS:                          steady{b.opts.FS, b.broken},
		FormatMajorVersion:          formatVersion,
		DisableWAL:                  true,
		ErrorIfExists:               !b.hasBase,
		ErrorIfNotExists:            b.hasBase,
		Logger:                      b.broken,
		EventListener:               b.broken.listener(),
		CacheSize:                   b.opts.CacheBytes,
		MemTableSize:                uint64(b.memTable),
		MemTableStopWritesThreshold: 1 << 20, // a base is bounded; a writer that waits for a flush cannot be stopped
		L0StopWritesThreshold:       1 << 20,
		L0CompactionThreshold:       16, // 4 uploads four times as much (compaction rewrites)
		MaxOpenFiles:                1000,
		DisableAutomaticCompactions: b.looking,
	}
	opts.Experimental.CompactionScheduler = b.compactions
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		opts.Levels[i].BlockSize = tableBlock
	}
	opts.Levels[len(opts.Levels)-1].FilterPolicy = pebble.NoFilterPolicy // Pebble's Get does not ask it
	// Pebble flushes while it opens, and tries that again for ever where the disk is full.
	opened := make(chan error, 1)
	go func() {
		var err error
		b.db, err = pebble.Open(b.dbDir(), opts)
		opened <- err
	}()
	var err error
	select {
	case err = <-opened:
		if err == nil && b.Err() != nil {
			err = errors.Join(b.Err(), b.db.Close())
		}
	case <-b.broken.failed:
		err = b.Err()
		b.leaveBehind(opened)
	case <-ctx.Done():
		err = context.Cause(ctx)
		if !b.closeOpened(opened) {
			b.leaveBehind(opened)
		}
	}
	if err != nil {
		return fmt.Errorf("opening the base: %w", corruptIf(err))
	}
	return nil
}

// closeOpened waits until Pebble has come to an end of opening, which it nearly always does at once, and closes it. It is false
// if that takes longer than closing may.
func (b *Backend) closeOpened(opened chan error) bool {
	timeout := time.NewTimer(b.opts.CloseTimeout)
	defer timeout.Stop()
	select {
	case err := <-opened:
		if err == nil {
			_ = b.db.Close() // nothing of it is needed
		}
		return true
	case <-b.broken.failed:
	case <-timeout.C:
	}
	return false
}

// leaveBehind keeps the directory locked until Pebble has opened it after all, and closes it then.
func (b *Backend) leaveBehind(opened <-chan error) {
	b.leftBehind = true
	go func() {
		if err := <-opened; err == nil {
			_ = b.db.Close()
		}
		_ = b.lock.Close()
	}()
}

// tableBlock is the size of a block in Pebble's tables, in bytes. A cold key takes a whole block into memory, whose garbage is what
// the collector runs for: with Pebble's 4 KB it costs a third more CPU time and three times the garbage. Bases are 6 % larger.
const tableBlock = 1 << 10

// formatVersion is pinned, so that a new Pebble does not write bases that an older Weir cannot read.
const formatVersion = pebble.FormatValueSeparation

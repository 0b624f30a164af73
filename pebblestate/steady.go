package pebblestate

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// steady is the file system that Pebble gets. Nothing is synced in it: what an attempt writes here is never read by another
// but for files that are compared with their hashes first, so a crash of the machine may take or spoil anything, and a sync could
// only wait: for everything that others have written to the disk. Nor can one fail, which would end the process: Pebble panics
// where a directory cannot be synced.
type steady struct {
	vfs.FS
	broken *breakdown
}

// retryPause slows down what Pebble tries again for ever, once it is of no use any more: without it a full disk costs a
// core until there is space.
const retryPause = 200 * time.Millisecond

// Create implements vfs.FS.
func (s steady) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if s.broken.Err() != nil {
		time.Sleep(retryPause)
	}
	return notSynced(s.FS.Create(name, category))
}

// ReuseForWrite implements vfs.FS.
func (s steady) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return notSynced(s.FS.ReuseForWrite(old, name, category))
}

// OpenReadWrite implements vfs.FS.
func (s steady) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return notSynced(s.FS.OpenReadWrite(name, category, opts...))
}

// OpenDir implements vfs.FS.
func (s steady) OpenDir(name string) (vfs.File, error) { return notSynced(s.FS.OpenDir(name)) }

func notSynced(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return unsynced{f}, nil
}

type unsynced struct{ vfs.File }

// Sync implements vfs.File.
func (unsynced) Sync() error { return nil }

// SyncData implements vfs.File.
func (unsynced) SyncData() error { return nil }

// SyncTo implements vfs.File.
func (unsynced) SyncTo(int64) (fullSync bool, err error) { return true, nil }

package pebblestate

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// steady is the file system that Pebble gets. Where a directory cannot be synced Pebble panics, on goroutines of its own
// too, which would end the process. Here that is a breakdown like any other: the attempt ends, and what is in the directory
// is never read again.
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
	return s.FS.Create(name, category)
}

// OpenDir implements vfs.FS.
func (s steady) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return steadyDir{f, name, s.broken}, nil
}

type steadyDir struct {
	vfs.File
	name   string
	broken *breakdown
}

// Sync implements vfs.File.
func (d steadyDir) Sync() error {
	if err := d.File.Sync(); err != nil {
		d.broken.fail(fmt.Errorf("syncing %s: %w", d.name, err))
	}
	return nil
}

// SyncData implements vfs.File.
func (d steadyDir) SyncData() error { return d.Sync() }

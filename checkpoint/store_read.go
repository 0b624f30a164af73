package checkpoint

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// OpenStoreToRead opens a store, as [OpenStore] names it, only to look at it: nothing is made, written or synced, also not to
// find out whether that would be possible. A directory that is not there is fs.ErrNotExist. Put and Delete of such a store are
// fs.ErrPermission.
func OpenStoreToRead(ctx context.Context, location string) (Store, error) {
	s, err := openStore(ctx, location, openDirectoryToRead)
	if err != nil {
		return nil, err
	}
	return readOnly{s}, nil
}

func openDirectoryToRead(root string) (Store, error) {
	info, err := vfs.Default.Stat(root)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", root, cause(err))
	}
	return &directory{root: root, fs: vfs.Default}, nil
}

// readOnly is a store that is only looked at.
type readOnly struct{ Store }

func (r readOnly) Put(_ context.Context, name string, _ io.ReadSeeker) error {
	return fmt.Errorf("writing %s/%s: %w: the store was opened to be read", r, name, fs.ErrPermission)
}

func (r readOnly) Delete(_ context.Context, name string) error {
	return fmt.Errorf("removing %s/%s: %w: the store was opened to be read", r, name, fs.ErrPermission)
}

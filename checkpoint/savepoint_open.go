package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// OpenSavepoint reads the manifest of a savepoint, which is a directory or the URL of one in a bucket. Its files are verified
// when they are read; the listener, which may be nil, hears of reads that are tried again. The caller closes the files' store.
// A directory that is not there, and one without a manifest, are fs.ErrNotExist; nothing is made. The error names the savepoint.
func OpenSavepoint(ctx context.Context, location string, listener *Listener) (*Manifest, *Files, error) {
	if err := CheckThere(location); err != nil {
		return nil, nil, fmt.Errorf("savepoint %w", err)
	}
	store, err := OpenStoreToRead(ctx, location)
	if err != nil {
		return nil, nil, fmt.Errorf("savepoint %s: %w", location, err)
	}
	files := NewFiles(store, listener)
	m, err := ReadManifest(ctx, files)
	if err != nil {
		_ = store.Close() // nothing was written
		return nil, nil, fmt.Errorf("savepoint: %w", err)
	}
	return m, files, nil
}

// CheckThere says of the path of a directory whether it is one, in the words of somebody who is to name it; one that is not
// there is fs.ErrNotExist. URLs are not looked at.
func CheckThere(location string) error {
	if IsURL(location) {
		return nil
	}
	info, err := os.Stat(location)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such directory: %w", location, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("%s: %w", location, err)
	case !info.IsDir():
		return fmt.Errorf("%s: it is a file, not a directory", location)
	}
	return nil
}

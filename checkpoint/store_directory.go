package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// directory is a Store in a directory. A file is written under another name, synced, given its own name if there is none yet,
// and its directory synced, so that it is there whole after a crash of the machine (rule 16).
type directory struct {
	root string
	fs   vfs.FS
	// synced holds the directories whose entry in the one above has been synced by this store. That one is there says nothing:
	// whoever made it may have ended, or have got an error, before that.
	synced sync.Map
}

// temporary begins the names of files that are being written. List shows those that a crash left, as files of their attempt,
// so that they are cleaned up with the rest of it.
const temporary = ".tmp-"

func openDirectory(root string) (Store, error) { return openDirectoryOn(vfs.Default, root) }

func openDirectoryOn(on vfs.FS, root string) (Store, error) {
	if err := checkDirectory(on, "storage", root); err != nil {
		return nil, err
	}
	d := &directory{root: root, fs: on}
	// Whoever made the directory, and those above it, may have ended before their entries were synced.
	for dir := root; dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		if err := syncDirectory(on, dir); err != nil && !notOurs(err) {
			return nil, fmt.Errorf("storage %s: %s cannot be synced: %w", root, dir, cause(err))
		}
	}
	d.synced.Store(root, true)
	return d, nil
}

// notOurs reports that a directory cannot be synced since it belongs to somebody else, or is of a file system that cannot be
// written: it was not made here.
func notOurs(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTSUP)
}

// CheckDirectory makes a directory if it is not there, and makes sure that files can be written in it. The error is one
// line that begins with what the directory is for, and names it and the cause.
func CheckDirectory(what, dir string) error { return checkDirectory(vfs.Default, what, dir) }

func checkDirectory(on vfs.FS, what, dir string) error {
	err := mkdirSynced(on, dir)
	if err == nil {
		var f vfs.File
		name := temporaryIn(dir)
		if f, err = on.Create(name, vfs.WriteCategoryUnspecified); err == nil {
			err = errors.Join(f.Close(), on.Remove(name))
		}
	}
	if err != nil {
		return &unusable{what, fs.PathError{Op: "write", Path: dir, Err: cause(err)}}
	}
	return nil
}

// unusable is a directory of this machine that cannot be written to. It is a [fs.PathError], so that one whose parent cannot be
// there is not taken for a file of a checkpoint that is gone.
type unusable struct {
	what string
	at   fs.PathError
}

func (e *unusable) Error() string {
	return fmt.Sprintf("%s %s: cannot be written: %v", e.what, e.at.Path, e.at.Err)
}
func (e *unusable) Unwrap() error { return &e.at }

// temporaryIn is a name in a directory that nobody else uses.
func temporaryIn(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%s%016x%016x", temporary, rand.Uint64(), rand.Uint64()))
}

// cause takes the operation and the path off a file system's error.
func cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

func (d *directory) String() string { return d.root }
func (d *directory) Close() error   { return nil }

func (d *directory) path(name string) (string, error) {
	if err := badName(name); err != nil {
		return "", err
	}
	return filepath.Join(d.root, filepath.FromSlash(name)), nil
}

func (d *directory) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	path, err := d.path(name)
	if err != nil {
		return err
	}
	if err := d.put(ctx, path, content); err != nil {
		return fmt.Errorf("writing %s: %w", path, cause(err))
	}
	return nil
}

func (d *directory) put(ctx context.Context, path string, content io.ReadSeeker) error {
	dir := filepath.Dir(path)
	if err := d.makeDirectory(dir); err != nil {
		return err
	}
	if _, err := d.fs.Stat(path); err == nil {
		// It was synced before it got its name, but its name need not be: who put it there may have failed at that.
		if err := syncDirectory(d.fs, dir); err != nil {
			return err
		}
		return fs.ErrExist
	}
	name := temporaryIn(dir)
	f, err := d.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = content.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(f, contextReader{ctx, content})
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = d.name(name, path)
	}
	if err != nil {
		_ = d.fs.Remove(name) // of no use; a failure to remove it does no harm
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Also if somebody else was quicker: his name need not be synced yet.
	if synced := syncDirectory(d.fs, dir); synced != nil {
		return synced
	}
	return err
}

// name gives a file that is whole its name, unless there is one of that name: a link is made or refused in one step, where a
// renaming replaces what somebody else has put there meanwhile. File systems without links get the renaming.
func (d *directory) name(temporary, path string) error {
	err := d.fs.Link(temporary, path)
	switch {
	case err == nil:
		_ = d.fs.Remove(temporary) // it has its name; what is left of the other is cleaned up as a file of its attempt
		return nil
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	}
	return d.fs.Rename(temporary, path)
}

func (d *directory) Get(ctx context.Context, name string, w io.Writer) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	path, err := d.path(name)
	if err != nil {
		return err
	}
	f, err := d.fs.Open(path)
	if err == nil {
		_, err = io.Copy(w, contextReader{ctx, f})
		_ = f.Close() // only read
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, cause(err))
	}
	return nil
}

// Delete leaves the directories that become empty: another upload may be about to use them.
func (d *directory) Delete(_ context.Context, name string) error {
	path, err := d.path(name)
	if err != nil {
		return err
	}
	if err := d.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", path, cause(err))
	}
	return nil
}

func (d *directory) List(ctx context.Context, prefix string) ([]Stored, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var out []Stored
	// Only what lies below the last directory of the prefix can match.
	from := filepath.Join(d.root, filepath.FromSlash(prefix[:strings.LastIndex(prefix, "/")+1]))
	err := d.walk(ctx, from, func(path string, size int64) error {
		name, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); strings.HasPrefix(name, prefix) {
			out = append(out, Stored{Name: name, Size: size})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", from, cause(err))
	}
	slices.SortFunc(out, func(a, b Stored) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (d *directory) Exists(_ context.Context, name string) (bool, error) {
	path, err := d.path(name)
	if err != nil {
		return false, err
	}
	_, err = d.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", path, cause(err))
	}
	return true, nil
}

// walk calls a function for every file in a directory and those below. What is removed meanwhile is left out.
func (d *directory) walk(ctx context.Context, dir string, file func(path string, size int64) error) error {
	names, err := d.fs.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		info, err := d.fs.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			err = file(path, 0) // whoever needs it finds out what is wrong with it
		case info.IsDir():
			err = d.walk(ctx, path, file)
		default:
			err = file(path, info.Size())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeDirectory makes a directory of the store, and syncs its entry.
func (d *directory) makeDirectory(dir string) error {
	_, err := d.fs.Stat(dir)
	if _, synced := d.synced.Load(dir); synced && err == nil {
		return nil
	}
	if dir != d.root {
		if err := d.makeDirectory(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if err := d.fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syncDirectory(d.fs, filepath.Dir(dir)); err != nil {
		return err
	}
	d.synced.Store(dir, true)
	return nil
}

// mkdirSynced makes a directory and those above it, and syncs the parent of each that it makes: otherwise a crash can
// take the directory with the files in it.
func mkdirSynced(on vfs.FS, dir string) error {
	if info, err := on.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := mkdirSynced(on, parent); err != nil {
			return err
		}
	}
	if err := on.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDirectory(on, parent)
}

func syncDirectory(on vfs.FS, dir string) error {
	f, err := on.OpenDir(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

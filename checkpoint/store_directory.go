package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// directory is a Store in a directory. A file is written under another name, synced, renamed, and its directory synced,
// so that it is there whole after a crash of the machine (rule 16).
type directory struct{ root string }

// temporary begins the names of files that are being written; List does not show them.
const temporary = ".tmp-"

func openDirectory(root string) (Store, error) {
	if err := CheckDirectory("storage", root); err != nil {
		return nil, err
	}
	return &directory{root}, nil
}

// CheckDirectory makes a directory if it is not there, and makes sure that files can be written in it. The error is one
// line that begins with what the directory is for, and names it and the cause.
func CheckDirectory(what, dir string) error {
	err := mkdirSynced(dir)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, temporary+"check-"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: cannot be written: %w", what, dir, cause(err))
	}
	return nil
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
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	dir := filepath.Dir(path)
	if err := mkdirSynced(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, temporary)
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
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // of no use; a failure to remove it does no harm
		return err
	}
	return syncDirectory(dir)
}

func (d *directory) Get(ctx context.Context, name string, w io.Writer) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	path, err := d.path(name)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
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
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		case e.IsDir() || strings.HasPrefix(e.Name(), temporary):
			return ctx.Err()
		}
		name, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(name, prefix) {
			return nil
		}
		out = append(out, Stored{Name: name, Size: info.Size()})
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
	_, err = os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", path, cause(err))
	}
	return true, nil
}

// mkdirSynced makes a directory and those above it, and syncs the parent of each that it makes: otherwise a crash can
// take the directory with the files in it.
func mkdirSynced(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return syscall.ENOTDIR
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := mkdirSynced(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(parent)
}

func syncDirectory(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

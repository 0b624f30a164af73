package pebblestate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/internal/fault"
)

// BaseFile is one file of a base.
type BaseFile struct {
	// Name is the name that Pebble knows the file by.
	Name string
	// Path is where the file is on this machine; only in what WriteBase returns.
	Path string
	Size int64
	// Hash is the SHA-256 of the content.
	Hash [32]byte
}

// Fetch copies a file of a base from the checkpoint's storage to what create makes, and closes it. It may begin anew, with
// another call of create. What was written is verified here.
type Fetch func(ctx context.Context, f BaseFile, create func() (io.WriteCloser, error)) error

// fetchers is how many files are fetched at a time.
const fetchers = 8

// isTable reports that Pebble writes the file once and never again.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// placeBase makes dir a database of exactly the given files, each one verified: Pebble opens a database with a damaged
// MANIFEST as an older or empty one and says nothing.
func placeBase(ctx context.Context, opts Options, dir string, files []BaseFile, fetch Fetch) error {
	seen := make(map[string]bool)
	for _, f := range files {
		if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, `/\`) || seen[f.Name] {
			return fmt.Errorf("%w: base: file name %q", ErrCorrupt, f.Name)
		}
		seen[f.Name] = true
	}
	if err := opts.FS.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	if opts.CacheDir != "" {
		_ = opts.FS.MkdirAll(opts.CacheDir, 0o755) // what cannot be kept is fetched again
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan BaseFile)
	var group sync.WaitGroup
	for range min(fetchers, len(files)) {
		group.Go(func() {
			for f := range todo {
				if err := placeFile(ctx, opts, opts.FS.PathJoin(dir, f.Name), f, fetch); err != nil {
					cancel(fmt.Errorf("base: file %s: %w", f.Name, err))
				}
				opts.Fault.At(fault.BaseFilePlaced)
			}
		})
	}
	for _, f := range files {
		select {
		case todo <- f:
		case <-ctx.Done():
		}
	}
	close(todo)
	group.Wait()
	return context.Cause(ctx)
}

// placeFile puts one verified file at path: from the cache, or fetched.
func placeFile(ctx context.Context, opts Options, path string, f BaseFile, fetch Fetch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if cached := cachePath(opts, f); cached != "" {
		if placeCached(opts.FS, cached, path, f) {
			return nil
		}
		_ = opts.FS.Remove(cached) // another process may have removed it
	}
	if fetch == nil {
		return errors.New("it is not on this machine and there is nowhere to fetch it from")
	}
	var placed *placing
	if err := fetch(ctx, f, func() (_ io.WriteCloser, err error) {
		placed, err = place(opts.FS, path, f)
		return placed, err
	}); err != nil {
		return err
	}
	if placed == nil {
		return errors.New("it was not fetched")
	}
	if err := same(placed.got(), f); err != nil {
		return err
	}
	if cached := cachePath(opts, f); cached != "" {
		linkOrCopy(opts.FS, path, cached, f)
	}
	return nil
}

// placing writes a file of a base, and finds out meanwhile what it is.
type placing struct {
	file vfs.File
	want BaseFile
	hash hash.Hash
	n    int64
}

// place begins a file anew.
func place(fs vfs.FS, path string, want BaseFile) (*placing, error) {
	// Not into a file that is there: it might be a link to one in use.
	if err := fs.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &placing{file: file, want: want, hash: sha256.New()}, nil
}

// Write implements io.Writer. What is too much is counted and goes nowhere: who reads it from the storage says best which of its
// files it is.
func (p *placing) Write(b []byte) (int, error) {
	p.n += int64(len(b))
	if p.n > p.want.Size {
		return len(b), nil
	}
	p.hash.Write(b) // before the file, which may change the bytes
	return p.file.Write(b)
}

// Close implements io.Closer.
func (p *placing) Close() error { return p.file.Close() }

// got is what was written.
func (p *placing) got() BaseFile {
	got := BaseFile{Size: p.n}
	p.hash.Sum(got.Hash[:0])
	return got
}

func placeCached(fs vfs.FS, cached, path string, f BaseFile) bool {
	got, err := hashFile(fs, cached)
	if err != nil || same(got, f) != nil {
		return false
	}
	return linkOrCopy(fs, cached, path, f)
}

// linkOrCopy links a table, and copies what Pebble appends to. A copy is renamed into its place: to write to an existing
// file might be to write to a table in use.
func linkOrCopy(fs vfs.FS, from, to string, f BaseFile) bool {
	if isTable(f.Name) {
		if err := fs.Link(from, to); err == nil || errors.Is(err, os.ErrExist) {
			return err == nil
		}
	}
	part := to + ".part"
	if vfs.Copy(fs, from, part) == nil && fs.Rename(part, to) == nil {
		return true
	}
	_ = fs.Remove(part) // Pebble would take it for one of its own
	return false
}

func same(got, want BaseFile) error {
	switch {
	case got.Size > want.Size:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrCorrupt, want.Size)
	case got.Size < want.Size:
		return fmt.Errorf("%w: it has %d bytes instead of %d", ErrCorrupt, got.Size, want.Size)
	case got.Hash != want.Hash:
		return fmt.Errorf("%w: its SHA-256 is %x instead of %x", ErrCorrupt, got.Hash, want.Hash)
	}
	return nil
}

func hashFile(fs vfs.FS, path string) (f BaseFile, err error) {
	r, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return f, err
	}
	hash := sha256.New()
	n, err := io.Copy(hash, struct{ io.Reader }{r})
	if err := errors.Join(err, r.Close()); err != nil {
		return f, err
	}
	f.Size = n
	hash.Sum(f.Hash[:0])
	return f, nil
}

func cachePath(opts Options, f BaseFile) string {
	if opts.CacheDir == "" {
		return ""
	}
	return opts.FS.PathJoin(opts.CacheDir, hex.EncodeToString(f.Hash[:]))
}

// keep puts the files of a new base into the cache and removes all that neither it nor the base before has. What fails is
// fetched at the next restore, so that an error here is none.
func (b *Backend) keep(files []BaseFile, before map[string]BaseFile) {
	if b.opts.CacheDir == "" || b.opts.FS.MkdirAll(b.opts.CacheDir, 0o755) != nil {
		return
	}
	wanted := make(map[string]bool)
	for _, f := range before {
		wanted[hex.EncodeToString(f.Hash[:])] = true
	}
	names, err := b.opts.FS.List(b.opts.CacheDir)
	if err != nil {
		return
	}
	have := make(map[string]bool)
	for _, name := range names {
		have[name] = true
	}
	for _, f := range files {
		name := hex.EncodeToString(f.Hash[:])
		if wanted[name] = true; !have[name] {
			linkOrCopy(b.opts.FS, f.Path, cachePath(b.opts, f), f)
		}
	}
	for _, name := range names {
		if !wanted[name] {
			_ = b.opts.FS.Remove(b.opts.FS.PathJoin(b.opts.CacheDir, name))
		}
	}
}

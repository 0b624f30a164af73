package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Store is where the files of checkpoints and savepoints are: a directory or a bucket. Names use "/" and are never used
// twice for different content ([FileName]). A file that is not there is fs.ErrNotExist, one that already is fs.ErrExist.
//
// Every call ends at the context's deadline, or after a minute if it has none. It is safe for concurrent use. Most callers
// want [Files], which adds hashes and patience.
type Store interface {
	// Put writes the whole of content, from its beginning. When it returns nil the file survives a crash of the machine. A file is there whole or not at all.
	Put(ctx context.Context, name string, content io.ReadSeeker) error
	// Get copies a file to w. After an error w has got a part of it.
	Get(ctx context.Context, name string, w io.Writer) error
	// Delete removes a file; one that is not there is fine.
	Delete(ctx context.Context, name string) error
	// List returns the files whose name begins with prefix, in order of name.
	List(ctx context.Context, prefix string) ([]Stored, error)
	// Exists reports whether there is a file of that name.
	Exists(ctx context.Context, name string) (bool, error)
	// String says where the store is, without secrets.
	String() string
	// Close releases connections.
	Close() error
}

// Stored is a file that a store lists.
type Stored struct {
	Name string
	Size int64
}

// ErrCorrupt marks an error that says that something stored is not what was written.
var ErrCorrupt = errors.New("corrupt")

// callTimeout bounds a call whose context has no deadline.
const callTimeout = time.Minute

func bounded(ctx context.Context) (context.Context, context.CancelFunc) { return boundedBy(ctx, 0) }

// slowest is how many bytes a second a file comes or goes at least: a call for it may take so much longer than callTimeout.
const slowest = int64(MiB)

// boundedBy is bounded for a call that reads or writes so many bytes.
func boundedBy(ctx context.Context, bytes int64) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, callTimeout+time.Duration(max(0, bytes)/slowest)*time.Second)
}

// openers are the kinds of bucket that this binary was built with, by URL scheme.
var openers = map[string]func(ctx context.Context, u *url.URL) (Store, error){}

// tags are the build tags that add kinds of bucket.
var tags = map[string]string{"gs": "gcs", "azblob": "azure"}

// OpenStore opens a directory ("weir-state", "/var/lib/weir", "file:///var/lib/weir") or a bucket ("s3://BUCKET/PATH?region=...").
// It makes sure that the store can be written to: a directory is made if it is not there. "mem://" is a store in memory,
// for tests.
func OpenStore(ctx context.Context, location string) (Store, error) {
	return openStore(ctx, location, openDirectory)
}

// openStore opens a bucket, or a directory by the function that is given: opening a bucket writes nothing.
func openStore(ctx context.Context, location string, directory func(root string) (Store, error)) (Store, error) {
	if location == "" {
		return nil, errors.New("storage: no directory and no URL")
	}
	scheme, _, isURL := strings.Cut(location, "://")
	if !isURL {
		dir, err := filepath.Abs(location)
		if err != nil {
			return nil, fmt.Errorf("storage %s: %w", location, err)
		}
		return directory(dir)
	}
	u, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("storage: %s://...: not a URL", scheme)
	}
	if u.Scheme == "file" {
		return directory(filepath.FromSlash(u.Path))
	}
	if open := openers[u.Scheme]; open != nil {
		ctx, cancel := bounded(ctx)
		defer cancel()
		s, err := open(ctx, u)
		if asStoreError(err) != nil {
			return nil, fmt.Errorf("storage %s: %w", place(u), err)
		}
		if err != nil {
			return nil, fmt.Errorf("storage %s: %s", place(u), oneLine(err))
		}
		return s, nil
	}
	return nil, fmt.Errorf("storage %w", unknownScheme(u))
}

// place is a URL without what may be secret in it.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// badName rejects names that would leave the store.
func badName(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("%q: %w", name, fs.ErrInvalid)
	}
	return nil
}

// contextReader stops a long copy when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

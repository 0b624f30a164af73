package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/weirstream/weir/internal/fault"
)

// Files is a store with hashes and patience: what it reads is verified, what it writes is hashed, and an error that may
// pass is tried again until the context's deadline, which is the checkpoint's (rule 8).
type Files struct {
	store Store
	// Fault is called at the steps of an upload, for tests; nil in use.
	Fault fault.Hook
	// Patience, if set, is how long one call is tried again, however much time the context leaves.
	Patience time.Duration
	// onRetry, if set, is told of each error that is tried again.
	onRetry func(StoreRetryEvent)
}

// diskFullPatience is how long a full or a failing disk is waited for: somebody may be making room, but a user who sees
// nothing happen is to learn the cause within seconds.
const diskFullPatience = 2 * time.Second

// NewFiles returns the files of a store. The listener's OnStoreRetry is told of errors that are tried again.
func NewFiles(store Store, listener *Listener) *Files {
	f := &Files{store: store}
	if listener != nil {
		f.onRetry = listener.OnStoreRetry
	}
	return f
}

// Store returns the store below.
func (f *Files) Store() Store { return f.store }

// UploadBytes writes content under the name that the function makes of its hash.
func (f *Files) UploadBytes(ctx context.Context, name func(Hash) string, content []byte) (File, error) {
	file := File{Size: int64(len(content)), Hash: sha256.Sum256(content)}
	file.Name = name(file.Hash)
	return file, f.put(ctx, file, &told{bytes.NewReader(content), f.Fault}, nil)
}

// UploadFile writes a local file under the name that the function makes of its hash. The local file must not change
// meanwhile; if it does, that is an error.
func (f *Files) UploadFile(ctx context.Context, name func(Hash) string, path string) (File, error) {
	local, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer local.Close() // only read
	file, err := summed(local)
	if err != nil {
		return File{}, err
	}
	file.Name = name(file.Hash)
	return file, f.putFile(ctx, file, local)
}

// UploadCopy writes the local copy of a file. A copy that has not the file's size and hash is an error that is [ErrCorrupt],
// and nothing is written.
func (f *Files) UploadCopy(ctx context.Context, file File, path string) error {
	local, err := os.Open(path)
	if err != nil {
		return err
	}
	defer local.Close() // only read
	got, err := summed(local)
	if err != nil {
		return err
	}
	if got.Hash != file.Hash || got.Size != file.Size {
		return fmt.Errorf("the local copy %s of file %s: %w: it has %d bytes and SHA-256 %s instead of %d and %s",
			path, file.Name, ErrCorrupt, got.Size, got.Hash, file.Size, file.Hash)
	}
	return f.putFile(ctx, file, local)
}

// summed is a file without a name, of the size and hash of a content.
func summed(content io.Reader) (File, error) {
	sum := sha256.New()
	size, err := io.Copy(sum, content)
	return File{Size: size, Hash: Hash(sum.Sum(nil))}, err
}

// putFile writes a local file and hashes it once more on the way.
func (f *Files) putFile(ctx context.Context, file File, content io.ReadSeeker) error {
	again := sha256.New()
	return f.put(ctx, file, &hashed{told{content, f.Fault}, again}, again)
}

// put writes a file; again, if set, has the hash of what was read of the content.
func (f *Files) put(ctx context.Context, file File, content io.ReadSeeker, again hash.Hash) error {
	err := f.retry(ctx, file.Size, func(ctx context.Context) error {
		err := f.store.Put(ctx, file.Name, content)
		if errors.Is(err, fs.ErrExist) {
			// The answer to an earlier try was lost, or a recovery repeats what was done: fine if the content is the same.
			if err = f.get(ctx, file, io.Discard); errors.Is(err, fs.ErrNotExist) {
				// Somebody else is writing it at this moment, or has taken it away: the next try tells.
				return fmt.Errorf("writing %s: the name is taken, but there is no file to read (%v)", file.Name, err)
			}
			return err
		}
		if err == nil && again != nil && Hash(again.Sum(nil)) != file.Hash {
			return fmt.Errorf("writing %s: the local file changed meanwhile: %w", file.Name, ErrCorrupt)
		}
		return err
	})
	f.Fault.At(fault.Uploaded)
	return err
}

// told tells of the end of what is read through it.
type told struct {
	io.ReadSeeker
	fault fault.Hook
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.ReadSeeker.Read(p)
	if err == io.EOF {
		t.fault.At(fault.Uploading) // written, but neither synced nor named
	}
	return n, err
}

// hashed hashes what is read through it. Seeking to the start begins anew.
type hashed struct {
	told
	sum hash.Hash
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.told.Read(p)
	h.sum.Write(p[:n]) // a hash never fails
	return n, err
}

func (h *hashed) Seek(offset int64, whence int) (int64, error) {
	if offset == 0 && whence == io.SeekStart {
		h.sum.Reset()
	}
	return h.ReadSeeker.Seek(offset, whence)
}

// mostAtOnce bounds the memory that is taken because of what a file is said to have, in bytes.
const mostAtOnce = 1 << 30

// ReadVerified returns the content of a file. What does not have the file's size and hash is an error that is [ErrCorrupt].
func (f *Files) ReadVerified(ctx context.Context, file File) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(int(max(0, min(file.Size, mostAtOnce))))
	err := f.retry(ctx, file.Size, func(ctx context.Context) error {
		buf.Reset()
		return f.get(ctx, file, &buf)
	})
	return buf.Bytes(), err
}

// Download copies a file to a local path, verified. The local file is not synced: it can be downloaded again.
func (f *Files) Download(ctx context.Context, file File, path string) error {
	return f.DownloadTo(ctx, file, func() (io.WriteCloser, error) { return os.Create(path) })
}

// DownloadTo copies a file to what create makes, verified. After an error that may pass it begins anew, with another call of
// create.
func (f *Files) DownloadTo(ctx context.Context, file File, create func() (io.WriteCloser, error)) error {
	return f.retry(ctx, file.Size, func(ctx context.Context) error {
		local, err := create()
		if err != nil {
			return err
		}
		err = f.get(ctx, file, local)
		if closed := local.Close(); err == nil {
			err = closed
		}
		return err
	})
}

// Verify reads a file and compares it with its hash.
func (f *Files) Verify(ctx context.Context, file File) error {
	return f.retry(ctx, file.Size, func(ctx context.Context) error {
		return f.get(ctx, file, io.Discard)
	})
}

// get copies a file to w and compares what came with the file's size and hash. What is wrong with the file is a
// [*FileError]; an error of w is w's, which may change the bytes.
func (f *Files) get(ctx context.Context, file File, w io.Writer) error {
	sum := sha256.New()
	size := &counter{}
	to := &target{w: w}
	err := f.store.Get(ctx, file.Name, io.MultiWriter(sum, size, to))
	if to.err != nil {
		return to.err
	}
	got := Hash(sum.Sum(nil))
	switch {
	case err != nil:
	case size.n != file.Size:
		err = fmt.Errorf("file %s in %s: %w: it has %d bytes instead of %d", file.Name, f.store, ErrCorrupt, size.n, file.Size)
	case got != file.Hash:
		err = fmt.Errorf("file %s in %s: %w: its SHA-256 is %s instead of %s", file.Name, f.store, ErrCorrupt, got, file.Hash)
	default:
		return nil
	}
	return &FileError{file.Name, err}
}

// target remembers the error of the writer below: a full local disk is not the fault of the file that is read.
type target struct {
	w   io.Writer
	err error
}

func (t *target) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.err = err
	return n, err
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// retry repeats a call for a file of that size (0 for a small one) until it succeeds, fails for good, or the context ends; then
// the last error of the call is what counts, not that of the context.
func (f *Files) retry(ctx context.Context, size int64, call func(ctx context.Context) error) error {
	ctx, cancel := boundedBy(ctx, size)
	defer cancel()
	var last error
	var full time.Time
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 20*time.Millisecond, 2*time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = call(ctx)
		if last == nil {
			return struct{}{}, nil
		}
		if errors.Is(last, syscall.ENOSPC) || errors.Is(last, syscall.EDQUOT) || errors.Is(last, syscall.EIO) {
			if full.IsZero() {
				full = time.Now()
			}
			if time.Since(full) >= diskFullPatience {
				return struct{}{}, backoff.Permanent(last)
			}
		}
		if permanent(last) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(b), backoff.WithMaxElapsedTime(f.Patience), backoff.WithNotify(func(err error, wait time.Duration) {
		if f.onRetry != nil {
			f.onRetry(StoreRetryEvent{Store: f.store.String(), Err: err, Wait: wait})
		}
	}))
	if err != nil && last != nil {
		return last
	}
	return err
}

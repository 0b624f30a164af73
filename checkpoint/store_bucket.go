//go:build gcs || azure

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// bucket is a Store in a bucket of gocloud.dev/blob: Google Cloud Storage, Azure. (S3 has its own.)
type bucket struct {
	b  *blob.Bucket
	at string
}

// openBucket opens SCHEME://BUCKET/PATH?OPTIONS, the options being those of gocloud.dev/blob.
func openBucket(ctx context.Context, u *url.URL) (Store, error) {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}
	b, err := blob.OpenBucket(ctx, bare.String())
	if err != nil {
		return nil, err
	}
	ok, err := b.IsAccessible(ctx)
	if err == nil && !ok {
		err = errors.New("no such bucket")
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		b = blob.PrefixedBucket(b, path+"/")
	}
	return &bucket{b, strings.TrimRight(place(u), "/")}, nil
}

func (b *bucket) String() string { return b.at }
func (b *bucket) Close() error   { return b.b.Close() }

// Put asks the service to keep the file only if there is none of that name, relies on its own checksum of what it was sent,
// and looks at the size of what is there afterwards.
func (b *bucket) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := badName(name); err != nil {
		return err
	}
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = b.b.Upload(ctx, name, content, &blob.WriterOptions{ContentType: contentType, IfNotExist: true})
	}
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		err = fs.ErrExist
	}
	if err != nil {
		return b.wrap("writing", name, err)
	}
	written, err := b.b.Attributes(ctx, name)
	if err == nil && written.Size != size {
		err = fmt.Errorf("%w: it has %d bytes instead of %d", ErrCorrupt, written.Size, size)
	}
	return b.wrap("checking", name, err)
}

func (b *bucket) Get(ctx context.Context, name string, w io.Writer) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return b.wrap("reading", name, b.b.Download(ctx, name, w, nil))
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := b.wrap("removing", name, b.b.Delete(ctx, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b *bucket) List(ctx context.Context, prefix string) ([]Stored, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var out []Stored
	it := b.b.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, b.wrap("listing", prefix, err)
		}
		out = append(out, Stored{Name: o.Key, Size: o.Size})
	}
}

func (b *bucket) Exists(ctx context.Context, name string) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ok, err := b.b.Exists(ctx, name)
	return ok, b.wrap("looking for", name, err)
}

// wrap says where an error happened, in one line, and marks the kinds that a caller asks for.
func (b *bucket) wrap(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	mark := err
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		mark = fs.ErrNotExist
	case gcerrors.PermissionDenied:
		mark = fs.ErrPermission
	case gcerrors.InvalidArgument, gcerrors.Unimplemented:
		mark = fs.ErrInvalid
	}
	if mark == err {
		return fmt.Errorf("%s %s/%s: %w", doing, b.at, name, err)
	}
	if mark == fs.ErrNotExist {
		return fmt.Errorf("%s %s/%s: %w", doing, b.at, name, mark)
	}
	return fmt.Errorf("%s %s/%s: %w (%s)", doing, b.at, name, mark, oneLine(err))
}

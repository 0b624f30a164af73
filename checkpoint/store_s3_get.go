package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// Get copies a file. If the connection breaks off it goes on where it was, as long as each connection gets further; that it
// is still the same file the service checks by its ETag, and [Files] by the hash of the whole.
func (s *s3Store) Get(ctx context.Context, name string, w io.Writer) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := badName(name); err != nil {
		return err
	}
	to := &target{w: w}
	at := &position{}
	for {
		from := at.offset
		err := s.getFrom(ctx, name, to, at)
		if err == nil || to.err != nil || at.offset == from || ctx.Err() != nil || isPermanentS3(err) {
			if to.err != nil {
				err = to.err
			}
			return s.explain(s.doing("reading", name), err)
		}
	}
}

// position is how far a download has come, and of which file.
type position struct {
	offset int64
	etag   *string
}

// getFrom copies a file from a position on, and moves it.
func (s *s3Store) getFrom(ctx context.Context, name string, w io.Writer, at *position) error {
	in := &awss3.GetObjectInput{Bucket: &s.bucket, Key: s.key(name)}
	if at.offset > 0 {
		in.Range, in.IfMatch = aws.String(fmt.Sprintf("bytes=%d-", at.offset)), at.etag
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	got, err := s.client.GetObject(ctx, in)
	if err != nil {
		return err
	}
	defer got.Body.Close() // only read
	at.etag = got.ETag
	if at.offset > 0 && got.ContentRange == nil {
		return fmt.Errorf("%w: the service sends the whole file and not its rest", fs.ErrInvalid)
	}
	// A connection that is open and silent ends too.
	silent := time.AfterFunc(s3Silence, func() { cancel(errSilent) })
	defer silent.Stop()
	want := aws.ToInt64(got.ContentLength)
	n, err := io.Copy(w, readerFunc(func(p []byte) (int, error) {
		silent.Reset(s3Silence)
		return got.Body.Read(p)
	}))
	at.offset += n
	if err == nil && got.ContentLength != nil && n < want {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	return err
}

var errSilent = fmt.Errorf("nothing has come for %s", s3Silence)

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Delete removes a file; one that is not there is fine.
func (s *s3Store) Delete(ctx context.Context, name string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := badName(name); err != nil {
		return err
	}
	_, err := s.client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: s.key(name)})
	if err = s.explain(s.doing("removing", name), err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List asks for page after page, each at most a thousand files.
func (s *s3Store) List(ctx context.Context, prefix string) ([]Stored, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var out []Stored
	pages := awss3.NewListObjectsV2Paginator(s.client, &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.key(prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.explain(s.doing("listing", prefix), err)
		}
		for _, o := range page.Contents {
			out = append(out, Stored{Name: aws.ToString(o.Key)[len(s.prefix):], Size: aws.ToInt64(o.Size)})
		}
	}
	return out, nil
}

// Exists reports whether there is a file of that name.
func (s *s3Store) Exists(ctx context.Context, name string) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := badName(name); err != nil {
		return false, err
	}
	there, err := s.exists(ctx, name)
	return there, s.explain(s.doing("looking for", name), err)
}

func (s *s3Store) exists(ctx context.Context, name string) (bool, error) {
	_, err := s.client.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(name)})
	if code, status := s3Code(err); err != nil && (code == "NotFound" || code == "NoSuchKey" || status == 404 && code != "NoSuchBucket") {
		return false, nil
	}
	return err == nil, err
}

// dialPatiently connects, and ends a connection that takes nothing for long: HTTP alone would wait for the other side for ever.
func dialPatiently(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: s3Dial, KeepAlive: s3Silence}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return patient{conn}, nil
}

type patient struct{ net.Conn }

func (c patient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(s3Silence)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const contentType = "application/octet-stream"

// Put asks the service to keep a file only if there is none of that name (If-None-Match: *), which it decides in one step,
// for a file in parts when they are put together. A service that refuses the condition is asked for the name first instead;
// two writers of one name at one time may then both succeed. Only savepoints have names that two could use at once.
func (s *s3Store) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := badName(name); err != nil {
		return err
	}
	size, err := content.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("%s: %w", s.doing("writing", name), err)
	}
	for {
		plain := s.plain.Load()
		err := s.put(ctx, name, content, size, plain)
		if errors.Is(err, errNoCondition) && !plain {
			s.plain.Store(true)
			continue
		}
		return s.explain(s.doing("writing", name), err)
	}
}

func (s *s3Store) put(ctx context.Context, name string, content io.ReadSeeker, size int64, plain bool) error {
	if plain || size > partSize { // a long file is not sent in vain
		if there, err := s.exists(ctx, name); err != nil || there {
			return errors.Join(err, existsAlready(there))
		}
	}
	condition := aws.String("*")
	if plain {
		condition = nil
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if size > partSize {
		return s.putParts(ctx, name, content, size, condition)
	}
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	body := (*buffer)[:size]
	if err := readExactly(content, body, true); err != nil {
		return err
	}
	_, err := s.client.PutObject(ctx, &awss3.PutObjectInput{
		Bucket: &s.bucket, Key: s.key(name), Body: bytes.NewReader(body), ContentLength: &size, IfNoneMatch: condition,
		ContentType: aws.String(contentType), ServerSideEncryption: s.encryption, SSEKMSKeyId: optional(s.kmsKey),
	})
	return s.put412(err)
}

func existsAlready(there bool) error {
	if there {
		return fs.ErrExist
	}
	return nil
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// readExactly fills b. At the end of the content nothing may follow.
func readExactly(content io.Reader, b []byte, end bool) error {
	if _, err := io.ReadFull(content, b); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: the local file became shorter meanwhile", ErrCorrupt)
		}
		return err
	}
	if end {
		var more [1]byte
		if n, err := content.Read(more[:]); n > 0 {
			return fmt.Errorf("%w: the local file became longer meanwhile", ErrCorrupt)
		} else if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// putParts uploads a file in parts. The content is read once, in order, as buffers become free.
func (s *s3Store) putParts(ctx context.Context, name string, content io.Reader, size int64, condition *string) (err error) {
	made, err := s.client.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: s.key(name), ContentType: aws.String(contentType), ServerSideEncryption: s.encryption,
		SSEKMSKeyId: optional(s.kmsKey), ChecksumAlgorithm: s.checksum(),
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.abort(ctx, name, made.UploadId)
		}
	}()
	parts, err := s.sendParts(ctx, name, made.UploadId, content, size)
	if err != nil {
		return err
	}
	_, err = s.client.CompleteMultipartUpload(ctx, &awss3.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: s.key(name), UploadId: made.UploadId, IfNoneMatch: condition,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return s.put412(err)
}

// sendParts sends the parts, partsAtOnce at a time. The first error ends those under way.
func (s *s3Store) sendParts(ctx context.Context, name string, upload *string, content io.Reader, size int64) ([]types.CompletedPart, error) {
	each := max(partSize, (size+maxParts-1)/maxParts)
	parts := make([]types.CompletedPart, (size+each-1)/each)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	free := make(chan []byte, partsAtOnce)
	for range min(partsAtOnce, len(parts)) {
		if each == partSize {
			buffer := s.buffers.Get().(*[]byte)
			defer s.buffers.Put(buffer)
			free <- *buffer
		} else {
			free <- make([]byte, each)
		}
	}
	var group sync.WaitGroup
	for i := range parts {
		var body []byte
		select {
		case body = <-free:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		rest := size - int64(i)*each
		used := body[:min(each, rest)]
		if err := readExactly(content, used, rest <= each); err != nil {
			cancel(err)
			break
		}
		group.Go(func() {
			defer func() { free <- body }()
			sent, err := s.client.UploadPart(ctx, &awss3.UploadPartInput{
				Bucket: &s.bucket, Key: s.key(name), UploadId: upload, PartNumber: aws.Int32(int32(i + 1)),
				Body: bytes.NewReader(used), ContentLength: aws.Int64(int64(len(used))), ChecksumAlgorithm: s.checksum(),
			})
			if err != nil {
				cancel(err)
				return
			}
			parts[i] = types.CompletedPart{
				PartNumber: aws.Int32(int32(i + 1)), ETag: sent.ETag, ChecksumCRC32: sent.ChecksumCRC32,
				ChecksumCRC32C: sent.ChecksumCRC32C, ChecksumCRC64NVME: sent.ChecksumCRC64NVME, ChecksumSHA1: sent.ChecksumSHA1, ChecksumSHA256: sent.ChecksumSHA256,
			}
		})
	}
	group.Wait()
	return parts, context.Cause(ctx)
}

// checksum is what the parts of a file are sent with; none where the URL says request_checksum_calculation=when_required.
func (s *s3Store) checksum() types.ChecksumAlgorithm {
	if s.client.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired {
		return ""
	}
	return types.ChecksumAlgorithmCrc32
}

// abort gives the parts of an upload back. If that fails they stay until the bucket's lifecycle rule removes them: they are
// no file, and no listing shows them.
func (s *s3Store) abort(ctx context.Context, name string, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, _ = s.client.AbortMultipartUpload(ctx, &awss3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: s.key(name), UploadId: upload})
}

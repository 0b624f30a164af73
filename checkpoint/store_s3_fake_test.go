package checkpoint

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// s3 is as much of S3 as a store needs, in memory: one bucket, path style, no signatures but the hash of the content. A real
// server is what integration/s3_test.go runs against.
type s3 struct {
	mu      sync.Mutex
	objects map[string][]byte
	uploads map[string]map[int][]byte
	made    int // uploads so far
	// before, if set, is called before a request is served, and serves it itself if it returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
	// noConditions answers as a service does that does not know If-None-Match.
	noConditions bool
	log          []string // method and what is asked
}

func (s *s3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.before != nil && s.before(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != "bucket" {
		s3Error(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	s.log = append(s.log, r.Method+" "+key)
	q := r.URL.Query()
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	if err != nil || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
		s3Error(w, http.StatusBadRequest, "BadDigest")
		return
	}
	_, there := s.objects[key]
	condition := r.Header.Get("If-None-Match") == "*" && (r.Method == http.MethodPut || r.Method == http.MethodPost)
	switch {
	case condition && s.noConditions:
		s3Error(w, http.StatusNotImplemented, "NotImplemented")
	case condition && there:
		s3Error(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPost && q.Has("uploads"):
		s.made++
		id := fmt.Sprint("upload-", s.made)
		s.uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case q.Has("uploadId"):
		s.part(w, r, q, key, body)
	case r.Method == http.MethodPut:
		s.objects[key] = body
		w.Header().Set("ETag", etag(body))
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case key == "":
		s.list(w, q)
	case !there:
		s3Error(w, http.StatusNotFound, "NoSuchKey")
	default:
		s.get(w, r, s.objects[key])
	}
}

// part serves what belongs to an upload in parts.
func (s *s3) part(w http.ResponseWriter, r *http.Request, q url.Values, key string, body []byte) {
	id := q.Get("uploadId")
	parts, ok := s.uploads[id]
	switch {
	case !ok:
		s3Error(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut:
		n, _ := strconv.Atoi(q.Get("partNumber"))
		parts[n] = body
		w.Header().Set("ETag", etag(body))
	case r.Method == http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		var whole []byte
		for n := 1; n <= len(parts); n++ {
			whole = append(whole, parts[n]...)
		}
		s.objects[key] = whole
		delete(s.uploads, id)
		fmt.Fprintf(w, "<CompleteMultipartUploadResult><Key>%s</Key></CompleteMultipartUploadResult>", key)
	}
}

func (s *s3) get(w http.ResponseWriter, r *http.Request, content []byte) {
	w.Header().Set("ETag", etag(content))
	if want := r.Header.Get("If-Match"); want != "" && want != etag(content) {
		s3Error(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	var from int
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && from < len(content) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		from = 0
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(content[from:])
	}
}

func etag(content []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(content)) }

func (s *s3) list(w http.ResponseWriter, q url.Values) {
	type object struct {
		Key                string
		Size               int
		LastModified, ETag string
	}
	var out struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []object
	}
	for key, content := range s.objects {
		if strings.HasPrefix(key, q.Get("prefix")) && key > q.Get("continuation-token") {
			out.Contents = append(out.Contents, object{key, len(content), "2026-01-01T00:00:00Z", "1"})
		}
	}
	slices.SortFunc(out.Contents, func(a, b object) int { return strings.Compare(a.Key, b.Key) })
	if page := 3; len(out.Contents) > page { // S3's pages have a thousand
		out.Contents = out.Contents[:page]
		out.IsTruncated, out.NextContinuationToken = true, out.Contents[page-1].Key
	}
	_ = xml.NewEncoder(w).Encode(out)
}

func s3Error(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>message of %s</Message></Error>", code, code)
}

// s3Secret is the secret key of the tests: it must be in no error.
const s3Secret = "wJalrXUtnFEMI/K7MDENG/secret"

func s3Keys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3Secret)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
}

func s3URL(bucketAndPath, endpoint string) string {
	return "s3://" + bucketAndPath + "?region=us-east-1&use_path_style=true&endpoint=" + url.QueryEscape(endpoint)
}

func s3Location(t *testing.T, bucketAndPath string) (*s3, string) {
	t.Helper()
	s3Keys(t)
	fake := &s3{objects: map[string][]byte{}, uploads: map[string]map[int][]byte{}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, s3URL(bucketAndPath, server.URL)
}

func openLocation(t *testing.T, location string) Store {
	t.Helper()
	s, err := OpenStore(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

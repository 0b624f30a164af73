package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// s3 is as much of S3 as a store needs, in memory: one bucket, path style, no signatures but the hash of the content.
type s3 struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (s *s3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != "bucket" {
		s3Error(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	content, ok := s.objects[key]
	switch {
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		sum := sha256.Sum256(body)
		if err != nil || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
			s3Error(w, http.StatusBadRequest, "BadDigest")
			return
		}
		s.objects[key] = body
		w.Header().Set("ETag", `"1"`)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case key == "":
		s.list(w, r.URL.Query())
	case !ok:
		s3Error(w, http.StatusNotFound, "NoSuchKey")
	default: // GET, HEAD
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
		}
	}
}

func (s *s3) list(w http.ResponseWriter, q url.Values) {
	type object struct {
		Key                string
		Size               int
		LastModified, ETag string
	}
	var out struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	for key, content := range s.objects {
		if strings.HasPrefix(key, q.Get("prefix")) {
			out.Contents = append(out.Contents, object{key, len(content), "2026-01-01T00:00:00Z", "1"})
		}
	}
	slices.SortFunc(out.Contents, func(a, b object) int { return strings.Compare(a.Key, b.Key) })
	_ = xml.NewEncoder(w).Encode(out)
}

func s3Error(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

func s3Location(t *testing.T, bucketAndPath string) (*s3, string) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	fake := &s3{objects: map[string][]byte{}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, "s3://" + bucketAndPath + "?region=us-east-1&use_path_style=true&request_checksum_calculation=when_required&endpoint=" + url.QueryEscape(server.URL)
}

func TestS3KeepsTheContractOfAStore(t *testing.T) {
	fake, location := s3Location(t, "bucket/weir/state")
	storeContract(t, location)
	if fake.objects["weir/state/j/0/a/1.sst"] == nil {
		t.Errorf("not below the path of the URL: %v", fake.objects)
	}
	s, err := OpenStore(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.String(); got != "s3://bucket/weir/state" {
		t.Error(got)
	}
	files := NewFiles(s, nil)
	content := bytes.Repeat([]byte("0123456789"), 50_000)
	file, err := files.UploadBytes(t.Context(), func(h Hash) string { return FileName("j", 0, "b", 1, h, "sst") }, content)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := files.ReadVerified(t.Context(), file); err != nil || !bytes.Equal(got, content) {
		t.Error(len(got), err)
	}
}

func TestMissingBucketIsAnErrorAtTheStart(t *testing.T) {
	_, location := s3Location(t, "another/weir")
	_, err := OpenStore(t.Context(), location)
	if err == nil || !strings.HasPrefix(err.Error(), "storage s3://another/weir: no such bucket") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

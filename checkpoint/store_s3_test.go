package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestS3KeepsTheContractOfAStore(t *testing.T) {
	for _, options := range []string{"", "&request_checksum_calculation=when_required"} {
		fake, location := s3Location(t, "bucket/weir/state")
		storeContract(t, location+options)
		if fake.objects["weir/state/j/0/a/1.sst"] == nil {
			t.Errorf("not below the path of the URL: %v", fake.objects)
		}
		if got := openLocation(t, location).String(); got != "s3://bucket/weir/state" {
			t.Error(got)
		}
	}
}

// long is a file of several parts and a bit.
func long() []byte {
	content := make([]byte, 2*partSize+12_345)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	return content
}

func TestLongFilesGoInParts(t *testing.T) {
	for _, size := range []int{0, 1, partSize - 1, partSize, partSize + 1, 2 * partSize, 2*partSize + 12_345} {
		fake, location := s3Location(t, "bucket/weir")
		files := NewFiles(openLocation(t, location), nil)
		content := long()[:size]
		file, err := files.UploadBytes(t.Context(), func(h Hash) string { return FileName("j", 0, "a", 1, h, "base") }, content)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, err := files.ReadVerified(t.Context(), file); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
		if parts := fake.made == 1; parts != (size > partSize) || len(fake.uploads) > 0 {
			t.Errorf("%d bytes: in parts: %v, %d uploads are left", size, parts, len(fake.uploads))
		}
	}
}

// Whichever request of an upload in parts fails, once or for ever: the file is there whole or not at all, and no parts are left.
func TestAnyRequestOfAnUploadInPartsMayFail(t *testing.T) {
	content := long()
	for _, lasting := range []bool{false, true} {
		for n := int64(1); ; n++ {
			fake, location := s3Location(t, "bucket/weir")
			store := openLocation(t, location)
			var calls, failed atomic.Int64
			fake.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodDelete {
					return false
				}
				if at := calls.Add(1); at == n || lasting && at > n {
					failed.Add(1)
					s3Error(w, http.StatusBadRequest, "RequestTimeout") // one that the SDK does not try again
					return true
				}
				return false
			}
			err := store.Put(t.Context(), "x", bytes.NewReader(content))
			fake.mu.Lock()
			got, there := fake.objects["weir/x"]
			if there != (err == nil) || there && !bytes.Equal(got, content) || len(fake.uploads) > 0 {
				t.Errorf("request %d: %v, there: %v, %d uploads are left", n, err, there, len(fake.uploads))
			}
			fake.mu.Unlock()
			if failed.Load() == 0 {
				if n < 7 {
					t.Errorf("an upload of %d bytes takes %d requests", len(content), n-1)
				}
				break
			}
		}
	}
}

// Of many writers of one name exactly one succeeds, in one piece and in parts; a service without conditions is asked first.
func TestOneNameIsPutOnce(t *testing.T) {
	for _, size := range []int{10, partSize + 10} {
		for _, plain := range []bool{false, true} {
			fake, location := s3Location(t, "bucket/weir")
			fake.noConditions = plain
			store := openLocation(t, location)
			writers := 8 - 4*(size/partSize)
			if plain {
				writers = 1
			}
			var wrote atomic.Int64
			var group sync.WaitGroup
			for i := range writers {
				group.Go(func() {
					content := bytes.Repeat([]byte{byte(i)}, size)
					switch err := store.Put(t.Context(), "manifest.json", bytes.NewReader(content)); {
					case err == nil:
						wrote.Add(1)
					case !errors.Is(err, fs.ErrExist):
						t.Error(err)
					}
				})
			}
			group.Wait()
			if wrote.Load() != 1 {
				t.Errorf("%d bytes, plain %v: %d writers have succeeded", size, plain, wrote.Load())
			}
			if err := store.Put(t.Context(), "manifest.json", strings.NewReader("late")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%d bytes, plain %v: put again: %v", size, plain, err)
			}
			fake.mu.Lock()
			if len(fake.uploads) > 0 {
				t.Errorf("%d uploads are left", len(fake.uploads))
			}
			fake.mu.Unlock()
		}
	}
}

// A small file is one request: a checkpoint waits for each.
func TestASmallFileIsOneRequest(t *testing.T) {
	fake, location := s3Location(t, "bucket/weir")
	store := openLocation(t, location)
	fake.log = nil
	if err := store.Put(t.Context(), "x", strings.NewReader("content")); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(fake.log); got != "[PUT weir/x]" {
		t.Error(got)
	}
}

// A download that breaks off again and again goes on where it was, and ends with the whole file.
func TestADownloadThatBreaksOffGoesOn(t *testing.T) {
	fake, location := s3Location(t, "bucket/weir")
	content := long()
	fake.objects["weir/x"] = content
	store := openLocation(t, location)
	var ranges []string
	fake.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) > 3 {
			return false
		}
		from := (len(ranges) - 1) * 1_000_000
		w.Header().Set("ETag", etag(content))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(content[from : from+1_000_000])
		panic(http.ErrAbortHandler)
	}
	var got bytes.Buffer
	if err := store.Get(t.Context(), "x", &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(content), err)
	}
	if want := []string{"", "bytes=1000000-", "bytes=2000000-", "bytes=3000000-"}; !slices.Equal(ranges, want) {
		t.Error(ranges)
	}
}

// If the file is another one meanwhile, its parts are not put together.
func TestADownloadDoesNotMixTwoFiles(t *testing.T) {
	fake, location := s3Location(t, "bucket/weir")
	before, after := bytes.Repeat([]byte{1}, 1_000_000), bytes.Repeat([]byte{2}, 1_000_000)
	fake.objects["weir/x"] = after
	store := openLocation(t, location)
	first := true
	fake.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !first {
			return false
		}
		first = false
		w.Header().Set("ETag", etag(before))
		w.Header().Set("Content-Length", fmt.Sprint(len(before)))
		_, _ = w.Write(before[:500_000])
		panic(http.ErrAbortHandler)
	}
	var got bytes.Buffer
	if err := store.Get(t.Context(), "x", &got); err == nil || bytes.IndexByte(got.Bytes(), 2) >= 0 {
		t.Errorf("%v after %d bytes", err, got.Len())
	}
}

// A full local disk is no reason to fetch again, and is reported as what it is.
func TestAFullLocalDiskEndsADownload(t *testing.T) {
	fake, location := s3Location(t, "bucket/weir")
	fake.objects["weir/x"] = long()
	store := openLocation(t, location)
	fake.log = nil
	if err := store.Get(t.Context(), "x", fullDisk{}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	if got := len(fake.log); got != 1 {
		t.Errorf("%d requests", got)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

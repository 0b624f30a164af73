//go:build integration

package integration

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// bucket is as much of S3 as a job needs, in memory. Calls may be slow, or fail: before they have an effect, or after.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte

	delay  atomic.Int64 // nanoseconds before each call
	failed atomic.Int64
	slow   atomic.Int64
	calls  atomic.Int64
	every  atomic.Int64 // each such call fails; 0 for none
}

func newBucket(t *testing.T) (*bucket, string) {
	b := &bucket{objects: map[string][]byte{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, "s3://bucket/state?region=us-east-1&use_path_style=true&request_checksum_calculation=when_required&endpoint=" + url.QueryEscape(server.URL)
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d := time.Duration(b.delay.Load()); d > 0 {
		b.slow.Add(1)
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	n := b.calls.Add(1)
	if every := b.every.Load(); every > 0 && n%every == 0 {
		b.failed.Add(1)
		switch n / every % 3 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "<Error><Code>SlowDown</Code><Message>slow down</Message></Error>")
		case 1: // no answer, and no effect
			panic(http.ErrAbortHandler)
		default: // no answer, but it is done
			b.serve(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		return
	}
	b.serve(w, r)
}

func (b *bucket) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	content, ok := b.objects[key]
	switch {
	case r.Method == http.MethodPut:
		b.objects[key] = body
	case r.Method == http.MethodDelete:
		delete(b.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case key == "":
		b.list(w, r.URL.Query().Get("prefix"))
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>")
	default:
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
		}
	}
}

func (b *bucket) list(w http.ResponseWriter, prefix string) {
	type object struct {
		Key                string
		Size               int
		LastModified, ETag string
	}
	var out struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	for key, content := range b.objects {
		if strings.HasPrefix(key, prefix) {
			out.Contents = append(out.Contents, object{key, len(content), "2026-01-01T00:00:00Z", "1"})
		}
	}
	slices.SortFunc(out.Contents, func(a, b object) int { return strings.Compare(a.Key, b.Key) })
	_ = xml.NewEncoder(w).Encode(out)
}

// inBucket is the job's program with its storage in a bucket and a local directory of its own.
func (j *sumsJob) inBucket(t *testing.T, location string) harness.Program {
	t.Helper()
	p := j.program(t, "--set", "checkpoint.storage="+location, "--set", "checkpoint.local_dir="+t.TempDir())
	p.Env = []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true"}
	return p
}

// finishInBucket is finish of a job whose file does not name its storage.
func (j *sumsJob) finishInBucket(t *testing.T, feed *harness.Feed, last *harness.Process) {
	t.Helper()
	sent := feed.Stop()
	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, last)
	j.checkInvariants(t, sent)
}

// One call in three to the store fails, at starts and restores too: before it had an effect, or after.
func TestOutputIsExactWhileOneCallInThreeToTheStoreFails(t *testing.T) {
	t.Parallel()
	b, location := newBucket(t)
	b.every.Store(3)
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 1", "base_after: 40KiB", "retained: 2"}
	rng := harness.Rand(t)
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 500}, 1000)
	var p *harness.Process
	for range 3 {
		p = j.inBucket(t, location).Start(t)
		j.waitReady(t, p)
		j.waitForMore(t, 1000)
		p.Kill()
	}
	p = j.inBucket(t, location).Start(t)
	j.waitReady(t, p)
	j.finishInBucket(t, feed, p)
	if n := b.failed.Load(); n < 20 {
		t.Errorf("only %d calls failed", n)
	}
}

// Every call to the store takes ten seconds for a while: the checkpoint waits, nothing else ends, and nothing is lost.
func TestASlowStoreDelaysACheckpointAndNothingElse(t *testing.T) {
	t.Parallel()
	b, location := newBucket(t)
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 1", "timeout: 60s", "transaction_timeout: 150s"}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 200)
	p := j.inBucket(t, location).Start(t)
	j.waitReady(t, p)
	j.waitForMore(t, 100)
	b.delay.Store(int64(10 * time.Second))
	harness.Until(t, 60*time.Second, "slow calls", func() (bool, string) {
		n := b.slow.Load()
		return n >= 2, fmt.Sprint(n)
	})
	b.delay.Store(0)
	j.waitForMore(t, 300)
	j.finishInBucket(t, feed, p)
	if n := j.attempts(t); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

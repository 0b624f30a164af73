package web

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTriggeringNeedsTheToken(t *testing.T) {
	body := map[string]string{"/api/v1/savepoints": `{"dir":"x"}`}
	bearer := func(s string) http.Header { return http.Header{"Authorization": {s}} }
	for _, c := range []struct {
		name   string
		token  string
		method string
		path   string
		header http.Header
		want   int
	}{
		{"right token", "s3cret", "POST", "/api/v1/stop", bearer("Bearer s3cret"), 202},
		{"scheme in lower case", "s3cret", "POST", "/api/v1/stop", bearer("bearer s3cret"), 202},
		{"no token", "s3cret", "POST", "/api/v1/stop", nil, 401},
		{"wrong token", "s3cret", "POST", "/api/v1/stop", bearer("Bearer s3cres"), 401},
		{"shorter token", "s3cret", "POST", "/api/v1/stop", bearer("Bearer s3c"), 401},
		{"empty token", "s3cret", "POST", "/api/v1/stop", bearer("Bearer "), 401},
		{"another scheme", "s3cret", "POST", "/api/v1/stop", bearer("Basic s3cret"), 401},
		{"savepoint without token", "s3cret", "POST", "/api/v1/savepoints", nil, 401},
		{"reading needs none", "s3cret", "GET", "/api/v1/status", nil, 200},
		{"metrics need none", "s3cret", "GET", "/metrics", nil, 200},
		{"no token configured", "", "POST", "/api/v1/stop", nil, 202},
		{"a web page of another origin", "", "POST", "/api/v1/stop", http.Header{"Origin": {"http://evil.example"}}, 403},
		{"a name that was pointed here", "", "POST", "/api/v1/stop", http.Header{"Host": {"evil.example"}}, 403},
		{"a read is not a trigger", "", "GET", "/api/v1/stop", nil, 200},
		{"nor is a request of another kind", "", "PUT", "/api/v1/stop", nil, 405},
		{"nothing there", "", "GET", "/api/v2", nil, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := newFakeJob()
			s, _ := serve(t, Options{Token: kafka.Secret(c.token)}, job)
			if got := request(t, s, c.method, c.path, body[c.path], c.header); got != c.want {
				t.Errorf("answer %d, want %d", got, c.want)
			}
			if job.stopped.Load() != (c.want == 202) {
				t.Errorf("stopped: %v", job.stopped.Load())
			}
		})
	}
}

func TestClientSpeaksTheServersLanguage(t *testing.T) {
	job := newFakeJob()
	s, _ := serve(t, Options{Token: "t"}, job)
	defer http.DefaultClient.CloseIdleConnections()
	c := &Client{Address: s.Addr(), Token: "t"}

	st, err := c.Status(t.Context())
	if err != nil || st.Job != "clicks" || st.Phase != runtime.Running || st.Checkpoint != 42 || st.Restarts != 2 {
		t.Fatalf("%+v, %v", st, err)
	}
	if err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
	var dir string
	job.savepoint = func(d string) error { dir = d; return nil }
	if err := c.Savepoint(t.Context(), "/s/1"); err != nil || dir != "/s/1" {
		t.Errorf("%q, %v", dir, err)
	}
	job.savepoint = func(string) error { return errors.New("savepoint /s/1: the directory exists") }
	if err := c.Savepoint(t.Context(), "/s/1"); err == nil || err.Error() != "savepoint /s/1: the directory exists" {
		t.Errorf("%v", err)
	}
	taken := t.TempDir()
	if err := os.WriteFile(filepath.Join(taken, checkpoint.ManifestName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var conflict *RefusedError
	if err := c.Savepoint(t.Context(), taken); !errors.As(err, &conflict) || conflict.Code != 409 {
		t.Errorf("%v", err)
	}
	if err := c.Savepoint(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "dir is missing") {
		t.Errorf("%v", err)
	}
	if st, err := c.StopStatus(t.Context(), 0); st != nil || err != nil {
		t.Errorf("%+v, %v before anybody asked", st, err)
	}
	ask := runtime.StopRequest{ID: "1", Savepoint: "/s/2", Drain: true}
	want := runtime.StopStatus{ID: "1", Phase: runtime.StopUnderWay, Savepoint: "/s/2", Drain: true}
	if st, err := c.Stop(t.Context(), ask); err != nil || st != want || !job.stopped.Load() {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := c.StopStatus(t.Context(), time.Millisecond); err != nil || st == nil || *st != want {
		t.Errorf("%+v, %v after a wait", st, err)
	}
	if _, err := c.Stop(t.Context(), runtime.StopRequest{Savepoint: "taken"}); !errors.As(err, &conflict) || conflict.Code != 409 {
		t.Errorf("%v", err)
	}
	c.Token = "x"
	var refused *RefusedError
	if _, err := c.Stop(t.Context(), ask); !errors.As(err, &refused) || refused.Code != 401 || !strings.Contains(refused.Reason, "not the job's") {
		t.Errorf("%v", err)
	}
	s.Close()
	var gone *ConnectError
	if err := c.Health(t.Context()); !errors.As(err, &gone) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

func TestReadyMeansRunning(t *testing.T) {
	for _, phase := range phases {
		job := newFakeJob()
		job.status.Phase = phase
		s, _ := serve(t, Options{}, job)
		ready, healthy := request(t, s, "GET", "/readyz", "", nil), request(t, s, "GET", "/healthz", "", nil)
		wantReady, wantHealthy := 503, 200
		if phase == runtime.Running {
			wantReady = 200
		}
		if phase == runtime.Ended {
			wantHealthy = 503
		}
		if ready != wantReady || healthy != wantHealthy {
			t.Errorf("%s: ready %d, healthy %d; want %d and %d", phase, ready, healthy, wantReady, wantHealthy)
		}
		if got := request(t, s, "POST", "/api/v1/savepoints", `{"dir":"x"}`, nil); (got == 201) != (phase == runtime.Running) {
			t.Errorf("%s: savepoint answered %d", phase, got)
		}
	}
}

func TestAStuckCheckpointIsUnhealthy(t *testing.T) {
	var h health
	h.patience = time.Minute
	now := time.Now()
	running := runtime.Status{Phase: runtime.Running}
	h.triggered(7, now)
	if why := h.wedged(now.Add(59*time.Second), running); why != "" {
		t.Error(why)
	}
	if why := h.wedged(now.Add(61*time.Second), running); !strings.Contains(why, "checkpoint 7") {
		t.Errorf("%q", why)
	}
	h.completed(7, time.Second)
	if why := h.wedged(now.Add(time.Hour), running); why != "" {
		t.Error(why)
	}
	h.triggered(8, now)
	h.reset()
	if why := h.wedged(now.Add(time.Hour), running); why != "" {
		t.Error(why)
	}
}

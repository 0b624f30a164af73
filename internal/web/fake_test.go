package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/stream"
)

// fakeJob is a job that is told what to say.
type fakeJob struct {
	status    runtime.Status
	metrics   runtime.Metrics
	config    runtime.Config
	savepoint func(dir string) error
	stopped   atomic.Bool
	stop      *runtime.StopStatus
}

func newFakeJob() *fakeJob {
	return &fakeJob{
		status: runtime.Status{Phase: runtime.Running, Attempt: "a1", Lineage: "l1", Checkpoint: 42, CommittedAt: time.Now().UnixMilli(), Restarts: 2},
		config: runtime.Config{
			Job: "clicks",
			Graph: &runtime.Graph{Nodes: []*runtime.Node{
				{Name: "views", Kind: "source"}, {Name: "count", Kind: "aggregate", Keyed: true}, {Name: "counts", Kind: "sink"},
			}},
			Checkpoint: checkpoint.Options{Timeout: 30 * time.Second, TransactionTimeout: 90 * time.Second},
		},
	}
}

func (j *fakeJob) Status() runtime.Status    { return j.status }
func (j *fakeJob) Metrics() *runtime.Metrics { return &j.metrics }
func (j *fakeJob) Config() *runtime.Config   { return &j.config }

func (j *fakeJob) RequestStop(r runtime.StopRequest) (runtime.StopStatus, error) {
	if r.Savepoint == "taken" {
		return runtime.StopStatus{}, errors.New("there is one already")
	}
	j.stopped.Store(true)
	j.stop = &runtime.StopStatus{ID: r.ID, Phase: runtime.StopUnderWay, Savepoint: r.Savepoint, Drain: r.Drain}
	return *j.stop, nil
}

func (j *fakeJob) WaitStop(ctx context.Context) *runtime.StopStatus {
	if j.stop != nil && j.stop.Phase == runtime.StopUnderWay {
		<-ctx.Done()
	}
	return j.stop
}

func (j *fakeJob) Savepoint(_ context.Context, dir string) error {
	if j.savepoint == nil {
		return nil
	}
	return j.savepoint(dir)
}

func (j *fakeJob) EachSplit(fn func(runtime.SplitStatus)) {
	fn(runtime.SplitStatus{Source: "views", Topic: "views-topic", Partition: 0, Offset: 90, End: 100, EventTime: 1_700_000_000_500})
	fn(runtime.SplitStatus{Source: "views", Topic: "views-topic", Partition: 1, Offset: 5, End: -1, EventTime: stream.MinTime})
}
func (j *fakeJob) EachOutput(fn func(topic string, partition int32, records int64)) {
	fn("counts", 0, 17)
}
func (j *fakeJob) OldestTransaction() int64                       { return time.Now().UnixMilli() - 1500 }
func (j *fakeJob) EachDiscovery(fn func(source string, at int64)) { fn("views", 1_700_000_000_000) }

// serve starts a server for a job and ends it with the test.
func serve(t *testing.T, o Options, job Job) (*Server, *Metrics) {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMetrics("v1")
	s.Serve("clicks", job, m, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	return s, m
}

// request sends one request and returns the answer's code.
func request(t *testing.T, s *Server, method, path, body string, header http.Header) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

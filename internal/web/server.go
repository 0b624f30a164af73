package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirstream/weir/internal/runtime"
)

// Job is what a server shows and triggers. Its methods may be called from any goroutine.
type Job interface {
	Status() runtime.Status
	Metrics() *runtime.Metrics
	Positions
	Config() *runtime.Config
	Savepoint(ctx context.Context, dir string) error
	RequestStop(runtime.StopRequest) (runtime.StopStatus, error)
	// WaitStop returns when the latest request to stop has an outcome, or ctx ends; nil if there was none.
	WaitStop(ctx context.Context) *runtime.StopStatus
}

// Positions is where a job stands in its input and in its transactions.
type Positions interface {
	// EachSplit tells of every partition that is read.
	EachSplit(fn func(runtime.SplitStatus))
	// OldestTransaction is when the oldest open transaction with records began, in milliseconds since the Unix epoch; 0 if none.
	OldestTransaction() int64
	// EachOutput tells of every partition that is written how many records readers do not see, as of the last look.
	EachOutput(fn func(topic string, partition int32, records int64))
	// EachDiscovery tells when each source last looked for new partitions, in milliseconds since the Unix epoch.
	EachDiscovery(fn func(source string, at int64))
}

// ListenError says that an address cannot be listened on.
type ListenError struct {
	Address string
	Err     error
}

func (e *ListenError) Error() string {
	var op *net.OpError
	cause := e.Err
	if errors.As(cause, &op) {
		cause = op.Err
	}
	return fmt.Sprintf("http: cannot listen on %s: %s", e.Address, inWords(cause))
}

func (e *ListenError) Unwrap() error { return e.Err }

// Server answers HTTP requests about one job.
type Server struct {
	name     string
	token    string
	job      Job
	health   *health
	listener net.Listener
	server   *http.Server
	done     chan struct{}
}

// Listen takes the address, which fails with a [*ListenError] if something else has it. Nothing is answered before Serve.
func Listen(ctx context.Context, o Options) (*Server, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	token, err := o.Secret()
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, &ListenError{o.Address, err}
	}
	return &Server{token: token, listener: l, done: make(chan struct{})}, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve begins to answer for a job, once. It starts one goroutine, which Close ends.
func (s *Server) Serve(name string, job Job, m *Metrics, logger *slog.Logger) {
	s.name, s.job, s.health = name, job, &m.health
	m.watch(name, job)
	s.server = &http.Server{
		Handler:           s.handler(m.registry),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(s.done)
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("http ended", "error", err)
		}
	}()
}

// Close stops listening, waits a moment for requests under way, and returns when the server's goroutine has ended.
func (s *Server) Close() {
	if s.server == nil {
		s.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
	<-s.done
}

func (s *Server) handler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /api/v1/status", s.status)
	mux.HandleFunc("POST /api/v1/savepoints", s.authorized(s.savepoint))
	mux.HandleFunc("POST /api/v1/stop", s.authorized(s.stop))
	mux.HandleFunc("GET /api/v1/stop", s.stopStatus)
	mux.HandleFunc("GET /{$}", s.index)
	return mux
}

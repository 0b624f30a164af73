package runtime

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

// Config is everything that a job needs to run.
type Config struct {
	Job         string
	Graph       *Graph
	Parallelism int
	Kafka       kafka.Config
	Checkpoint  checkpoint.Options
	Producer    sink.Options
	// Start says what the first attempt does; a restart always continues from the last pointer.
	Start Start
	// WaitForBroker is how long the first attempt waits for a broker to answer; 0 for not at all.
	WaitForBroker time.Duration
	Logger        *slog.Logger
	// Listener may be nil.
	Listener *checkpoint.Listener
	// Fault is called at the steps of recoveries and checkpoints, for tests; nil in use.
	Fault fault.Hook
	// Now is the engine's clock, in milliseconds since the Unix epoch; nil for the system's. Whatever is stored, compared with
	// what was stored, or shown comes from it, and processing-time timers follow it. What is measured (timeouts, intervals,
	// idleness, delays) is measured on the system's steady clock, which nobody sets.
	Now func() int64
}

// Job is a job that runs, or is about to. Its methods may be called from any goroutine.
type Job struct {
	cfg     Config
	id      string // of this process's run
	metrics Metrics
	status  atomic.Pointer[Status]

	// ran says that an attempt has been ready to run, completed that one has committed more than its own first checkpoint.
	ran, completed atomic.Bool
	recovered      atomic.Pointer[recovered]
	// declared are the operators with their states, once they are known.
	declared atomic.Pointer[[]checkpoint.Operator]
	// current is the attempt that runs, nil between attempts.
	current atomic.Pointer[attempt]

	mu sync.Mutex
	// asked is the latest request to stop, nil before the first; over says that Run returns. stops wakes whoever waits: it has
	// room for one signal, and what it is about is in asked.
	asked *stopping
	over  bool
	stops chan struct{}

	requests chan savepointRequest
	ended    chan struct{} // Run has returned
}

// Phase is what a job does at the moment.
type Phase string

// The phases, in the order in which an attempt goes through them.
const (
	Starting   Phase = "starting"
	Recovering Phase = "recovering"
	Running    Phase = "running"
	Waiting    Phase = "waiting" // to restart
	Stopping   Phase = "stopping"
	Ended      Phase = "ended"
)

// Status is what there is to know about a running job.
type Status struct {
	Phase   Phase  `json:"phase"`
	Attempt string `json:"attempt"`
	Lineage string `json:"lineage"`
	// Checkpoint is the last committed one; CommittedAt when that was, in milliseconds since the Unix epoch.
	Checkpoint  int64 `json:"checkpoint"`
	CommittedAt int64 `json:"committed_at"`
	Restarts    int64 `json:"restarts"`
	// Error is why the last attempt ended.
	Error string `json:"error,omitempty"`
	// Stop is the latest request to stop, nil if there was none.
	Stop *StopStatus `json:"stop,omitempty"`
}

// NewJob makes a job of a configuration with its defaults set, which has been validated.
func NewJob(cfg Config) *Job {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = func() int64 { return time.Now().UnixMilli() }
	}
	cfg.Listener = checkpoint.Tee(cfg.Listener) // every func is set
	j := &Job{cfg: cfg, id: uuid.NewString(), stops: make(chan struct{}, 1), requests: make(chan savepointRequest), ended: make(chan struct{})}
	j.status.Store(&Status{Phase: Starting})
	return j
}

// Metrics is what the job counts.
func (j *Job) Metrics() *Metrics { return &j.metrics }

// Status returns what the job does at the moment.
func (j *Job) Status() Status {
	s := *j.status.Load()
	s.Restarts = j.metrics.Restarts.Load()
	s.Stop = j.StopStatus()
	return s
}

// Ran reports whether an attempt has been ready to run: if not, what ended the job kept it from starting.
func (j *Job) Ran() bool { return j.ran.Load() }

// Config is the configuration that the job runs with.
func (j *Job) Config() *Config { return &j.cfg }

type savepointRequest struct {
	dir  string
	done chan error
}

var errNotRunning = errors.New("the job has ended")

// Savepoint takes a checkpoint that is to be kept, and copies it to a directory or URL, which must not hold a savepoint
// already. It returns when the savepoint is whole. A copy that fails does not hurt the job.
func (j *Job) Savepoint(ctx context.Context, dir string) error {
	if err := tryPlace(ctx, dir); err != nil {
		return err
	}
	r := savepointRequest{dir: dir, done: make(chan error, 1)}
	select {
	case j.requests <- r:
	case <-j.ended:
		return errNotRunning
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-r.done:
		return err
	case <-j.ended:
		return errNotRunning
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

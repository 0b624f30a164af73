package jobtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// Run is one run of a job, as one process would run it: with a network of its own, and restarts of its own.
type Run struct {
	c       *Cluster
	name    string
	job     *runtime.Job
	network network
	cancel  context.CancelCauseFunc
	// moved is signalled when a checkpoint is complete and when an attempt begins.
	moved chan struct{}
	// taken is signalled at every step.
	taken chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	plans   []*plan
	passed  map[Step]int
	changed bool // some checkpoint had changes of state
	crashed bool
	err     error
}

// Option changes one run.
type Option func(*settings)

type settings struct {
	options job.Options
	plans   []*plan
}

// Configure changes the job's options, for example o.Parallelism or o.Start. Where the cluster is, is the test's business.
func Configure(change func(o *job.Options)) Option { return func(s *settings) { change(&s.options) } }

// CrashAt crashes the run when it takes the step for the n-th time, the first being 1.
func CrashAt(step Step, n int) Option {
	return func(s *settings) { s.plans = append(s.plans, &plan{step, n, (*Run).crash}) }
}

// DisconnectAt closes every connection of the run when it takes the step for the n-th time. The job recovers from that by
// itself.
func DisconnectAt(step Step, n int) Option {
	return func(s *settings) {
		s.plans = append(s.plans, &plan{step, n, func(r *Run) { r.network.disconnect(false) }})
	}
}

// Run starts a job and returns at once. It continues from the job's last checkpoint, if there is one. Checkpoints are 10
// ms apart unless the options say otherwise. Topics that are not there are made, with one partition. A source that names
// another cluster reads from this one too.
func (c *Cluster) Run(g *job.Graph, opts ...Option) *Run {
	c.t.Helper()
	var s settings
	for _, o := range opts {
		o(&s)
	}
	for _, p := range s.plans {
		known(c.t, p.step)
	}
	r := &Run{
		c: c, name: g.Name(), plans: s.plans, passed: map[Step]int{},
		moved: make(chan struct{}, 1), taken: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	var err error
	if r.job, err = g.Prepare(r.options(s.options)); err != nil {
		c.t.Fatal(err)
	}
	c.adopt(r.job.Config())
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	c.runs = append(c.runs, r)
	go func() {
		err := r.job.Run(ctx)
		r.mu.Lock()
		if r.err = err; r.crashed {
			r.err = ErrCrashed
		}
		r.mu.Unlock()
		r.network.disconnect(true)
		close(r.ended)
	}()
	return r
}

// options are the job's options as far as they are the kit's business.
func (r *Run) options(o job.Options) job.Options {
	o.Kafka = job.Kafka{Brokers: r.c.Brokers(), Dialer: r.network.dial}
	k := &o.Checkpoint
	k.Interval = cmp.Or(k.Interval, 10*time.Millisecond)
	k.Restart.InitialBackoff = cmp.Or(k.Restart.InitialBackoff, 10*time.Millisecond)
	k.Storage = cmp.Or(k.Storage, filepath.Join(r.c.dir, "state"))
	k.LocalDir = cmp.Or(k.LocalDir, filepath.Join(r.c.dir, "local"))
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(r.c.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	own := &checkpoint.Listener{
		OnPersist: func(e checkpoint.PersistEvent) {
			r.mu.Lock()
			r.changed = r.changed || e.Bytes > 0
			r.mu.Unlock()
		},
		OnComplete: func(checkpoint.CompleteEvent) { signal(r.moved) },
		OnRestore:  func(checkpoint.RestoreEvent) { signal(r.moved) },
	}
	o.Listener = checkpoint.Tee(own, o.Listener)
	o.Fault = r.at
	return o
}

// at is the run's fault hook.
func (r *Run) at(s Step) {
	r.mu.Lock()
	r.passed[s]++
	var due []*plan
	for _, p := range r.plans {
		if p.step == s && !r.crashed {
			if p.left--; p.left == 0 {
				due = append(due, p)
			}
		}
	}
	r.mu.Unlock()
	for _, p := range due {
		p.do(r)
	}
	signal(r.taken)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// crash ends the run as SIGKILL ends a process: nothing more of it reaches the broker. It does not wait.
func (r *Run) crash() {
	r.mu.Lock()
	r.crashed = true
	r.mu.Unlock()
	r.network.disconnect(true)
	r.cancel(ErrCrashed)
}

// Kill crashes the run now, if it has not ended, and returns when nothing of it is left.
func (r *Run) Kill() {
	if !r.over() {
		r.crash()
		<-r.ended
	}
}

// Wait waits for the end of the run and returns what ended it: nil if it came to the end of its input, ErrCrashed if it
// was crashed, else the job's error.
func (r *Run) Wait() error {
	r.c.t.Helper()
	ctx, cancel := r.c.bounded()
	defer cancel()
	select {
	case <-r.ended:
		return r.err
	case <-ctx.Done():
		r.c.t.Fatalf("waited %s for the end of job %s: %s", patience, r.name, r.state())
		return nil
	}
}

// Stop ends the run with a last checkpoint. It returns when nothing of it is left, with what Wait returns.
func (r *Run) Stop() error {
	r.c.t.Helper()
	r.job.Stop()
	return r.Wait()
}

// Savepoint takes a savepoint into a directory, which is made if it is not there and must not hold a savepoint already;
// o.Start.From starts from it. If the run or its attempt ends before, there may be none: that is the error.
func (r *Run) Savepoint(dir string) error {
	ctx, cancel := r.c.bounded()
	defer cancel()
	return r.job.Savepoint(ctx, dir)
}

// Passed is how often the run has taken a step.
func (r *Run) Passed(s Step) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passed[s]
}

// WaitCommitted waits until all that was in the job's input at the call is processed, and the results are committed. A
// window that is still open has no result yet. If the run ends before, it returns what Wait returns.
func (r *Run) WaitCommitted() error {
	r.c.t.Helper()
	// Before that the group's offsets are those of another run, and perhaps of another lineage.
	if err := r.waitFor(fault.Begun); err != nil {
		return err
	}
	ends := r.ends()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for least := int64(math.MaxInt64); ; {
		behind := r.behind(ends)
		if behind == 0 {
			return nil
		}
		if behind < least {
			least = behind
			timeout.Reset(patience)
		}
		select {
		case <-r.moved:
		case <-r.ended:
			return r.err
		case <-timeout.C:
			r.c.t.Fatalf("job %s has committed nothing of its input for %s: %d records are left; %s", r.name, patience, behind, r.state())
		}
	}
}

// ends are the ends of the job's input now.
func (r *Run) ends() map[string]map[int32]int64 {
	r.c.t.Helper()
	ctx, cancel := r.c.bounded()
	defer cancel()
	ends, err := r.c.written(ctx, sourceTopics(r.job.Config().Graph))
	if err != nil {
		r.c.t.Fatal(err)
	}
	return ends
}

// behind is how many records the committed offsets of the job are before those ends.
func (r *Run) behind(ends map[string]map[int32]int64) (n int64) {
	r.c.t.Helper()
	ctx, cancel := r.c.bounded()
	defer cancel()
	group := r.job.Config().Checkpoint.GroupID(r.name)
	got, err := r.c.admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // which is that of a job before its first checkpoint
		r.c.t.Fatalf("group %s: %v", group, err)
	}
	for topic, parts := range ends {
		for p, end := range parts {
			at, _ := got.Lookup(topic, p)
			n += max(0, end-at.At)
		}
	}
	return n
}

// waitFor waits until the run has taken a step. If it ends before, it returns what Wait returns.
func (r *Run) waitFor(s Step) error {
	r.c.t.Helper()
	ctx, cancel := r.c.bounded()
	defer cancel()
	for r.Passed(s) == 0 {
		select {
		case <-r.taken:
		case <-r.ended:
			return r.err
		case <-ctx.Done():
			r.c.t.Fatalf("waited %s for the step %s of job %s; %s", patience, s, r.name, r.state())
		}
	}
	return nil
}

// over reports whether the run has ended.
func (r *Run) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// state says how the run is.
func (r *Run) state() string {
	if r.over() {
		return fmt.Sprintf("it has ended (%v)", r.err)
	}
	s := r.job.Status()
	text := fmt.Sprintf("it is %s, its last checkpoint is %d", s.Phase, s.Checkpoint)
	if s.Error != "" {
		text += ", its last error " + s.Error
	}
	return text
}

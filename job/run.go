package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/sink"
)

// Kafka says how to reach a Kafka cluster.
type Kafka = kafka.Config

// Start is what a start asks for.
type Start = runtime.Start

// Fit is what a start from a savepoint would do.
type Fit = runtime.Fit

// Options are the settings of a whole job.
type Options struct {
	// Kafka is the cluster of the job: its sinks, its checkpoint topic, and the sources that name no other.
	Kafka Kafka `yaml:"kafka"`
	// Parallelism is the number of subtasks of each step that does not set its own. Default 1.
	Parallelism int `yaml:"parallelism"`
	// Checkpoint says when checkpoints are taken and where they are kept.
	Checkpoint checkpoint.Options `yaml:"checkpoint"`
	// Producer says how results are sent.
	Producer sink.Options `yaml:"producer"`
	// HTTP says where metrics, health and commands can be reached when the job is run by package cli. Run itself listens
	// nowhere.
	HTTP HTTP `yaml:"http"`
	// Log says what is logged when the job is run by package cli. Run itself logs to Logger only.
	Log Log `yaml:"log"`

	// Logger takes what the job has to tell; nil discards it.
	Logger *slog.Logger `yaml:"-"`
	// Now is the job's clock, in milliseconds since the Unix epoch, for tests; nil for the system's. Processing-time timers
	// follow it, and it is what checkpoints and metrics are dated by. Durations are measured on the system's steady clock.
	Now func() int64 `yaml:"-"`
	// Listener hears of every step of a checkpoint.
	Listener *checkpoint.Listener `yaml:"-"`
	// Fault is called at the steps of recoveries and checkpoints. It is for package jobtest.
	Fault fault.Hook `yaml:"-"`
	// Start says where the job starts: by default it continues from its last checkpoint.
	Start Start `yaml:"-"`
	// WaitForBroker is how long to wait for a broker at the start; by default an unreachable broker is an error at once.
	WaitForBroker time.Duration `yaml:"-"`
}

// EnsureDefaults sets what is zero to its default.
func (o *Options) EnsureDefaults() {
	if o.Parallelism == 0 {
		o.Parallelism = 1
	}
	o.Kafka.EnsureDefaults()
	o.Checkpoint.EnsureDefaults()
	o.HTTP.EnsureDefaults()
	o.Log.EnsureDefaults()
}

// Validate reports every mistake, joined.
func (o *Options) Validate() error {
	var errs []error
	if o.Parallelism < 1 {
		errs = append(errs, fmt.Errorf("parallelism %d: want 1 or more", o.Parallelism))
	}
	if err := o.Kafka.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("kafka: %w", err))
	}
	if err := o.Producer.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("producer: %w", err))
	}
	if err := o.Checkpoint.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("checkpoint: %w", err))
	}
	if err := o.HTTP.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("http: %w", err))
	}
	if err := o.Log.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("log: %w", err))
	}
	return errors.Join(errs...)
}

// Prepare checks the graph and the options and returns the job, ready to run. It touches nothing outside the process.
func (g *Graph) Prepare(o Options) (*runtime.Job, error) {
	o.EnsureDefaults()
	if err := errors.Join(g.Validate(), o.Validate()); err != nil {
		return nil, err
	}
	if err := g.fits(o); err != nil {
		return nil, err
	}
	return runtime.NewJob(runtime.Config{
		Job: g.name, Graph: &runtime.Graph{Nodes: g.nodes}, Parallelism: o.Parallelism, Kafka: o.Kafka, Checkpoint: o.Checkpoint, Producer: o.Producer,
		Start: o.Start, WaitForBroker: o.WaitForBroker, Logger: o.Logger, Listener: o.Listener, Now: o.Now,
		Fault: o.Fault,
	}), nil
}

// fits reports steps of more subtasks than there are key groups: an attempt would find that after it has fenced whoever runs.
func (g *Graph) fits(o Options) error {
	var errs []error
	over := func(where string, p int) {
		if p > o.Checkpoint.KeyGroups {
			errs = append(errs, fmt.Errorf("job %s: %sparallelism %d is more than the %d key groups of the job (checkpoint.key_groups)", g.name, where, p, o.Checkpoint.KeyGroups))
		}
	}
	if slices.ContainsFunc(g.nodes, func(n *runtime.Node) bool { return n.Parallelism == 0 }) {
		over("", o.Parallelism)
	}
	for _, n := range g.nodes {
		over("step "+n.Name+": ", n.Parallelism)
	}
	return errors.Join(errs...)
}

// Run runs the job until the end of its input, or until ctx ends: then it takes a last checkpoint and returns nil.
// Any other return is the error that ended the job after its restart strategy gave up, or one that a restart cannot mend.
func (g *Graph) Run(ctx context.Context, o Options) error {
	j, err := g.Prepare(o)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, j.Stop)()
	return j.Run(context.WithoutCancel(ctx))
}

// CheckSavepoint says what a start of the job from the savepoint that o.Start names would restore, drop and read again, and
// what of it does not fit. The job may run meanwhile; nothing is changed.
func (g *Graph) CheckSavepoint(ctx context.Context, o Options) (*Fit, error) {
	j, err := g.Prepare(o)
	if err != nil {
		return nil, err
	}
	return j.CheckSavepoint(ctx)
}

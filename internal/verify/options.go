package verify

import (
	"log/slog"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
)

// Job is the job to verify.
type Job struct {
	Name        string
	Graph       *runtime.Graph
	Parallelism int
	Kafka       kafka.Config
	Checkpoint  checkpoint.Options
}

// Options say what is verified, and with what.
type Options struct {
	// From is the directory or URL of a savepoint of the job: only what came after it is verified, beginning with its state.
	// By default the verification begins where the job began.
	From string
	// LogStart says that the job began where its input topics begin now. It is needed if they do not begin at offset 0: it
	// cannot be told then whether records have expired that the job has read.
	LogStart bool
	// OutputFrom holds, by topic and partition, where the output begins that is compared. By default a topic is compared from
	// its beginning; if the job did not begin there (it continued from a savepoint, or began anew), the last records of
	// each key are compared, and what stands before them is not judged.
	OutputFrom map[string]map[int32]int64
	// Last compares the last value of each key only, and neither headers nor timestamps: for jobs whose running results
	// depend on how partitions interleave, while their last does not.
	Last bool
	// Trust lists operators that are taken at their word: their results are said to depend on the input alone.
	Trust []string
	// TempDir is where a temporary database is made; empty is the system's directory for temporary files.
	TempDir string
	// Memory is how many bytes the state of the operators may take before it goes to disk. Default 256 MiB. Timers, and which
	// windows are open, stay in memory whatever it is.
	Memory int64
	// Examples is how many findings of each kind the report has. Default 10.
	Examples int
	// Progress is called now and then, from the goroutine of Run; nil for never.
	Progress func(Progress)
	// Logger takes what is worth knowing; nil discards it.
	Logger *slog.Logger
}

// Progress is how far a verification has come.
type Progress struct {
	// Phase is "input", "output" or "compare".
	Phase string
	// Done and Total count offsets of the input or the output, or keys; Total is 0 if it is not known.
	Done, Total int64
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Examples == 0 {
		o.Examples = 10
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

package checkpoint

import (
	"os"
	"path/filepath"
	"time"
)

// Mode says what a checkpoint guarantees about output.
type Mode string

const (
	// ExactlyOnce aligns barriers and makes output visible with the checkpoint that it belongs to.
	ExactlyOnce Mode = "exactly_once"
	// AtLeastOnce holds no channel back and makes output visible at once; after a failure some of it comes again.
	AtLeastOnce Mode = "at_least_once"
)

// Options are the settings of a job's checkpoints: when they are taken, what they cost and where they are kept.
type Options struct {
	// Interval is the time from one checkpoint to the next, and with exactly_once how long output waits to be seen. A job
	// that has done nothing since the last checkpoint takes none. Default 200ms.
	Interval time.Duration `yaml:"interval"`
	// Timeout is how long a checkpoint may take from its trigger to its commit; then the attempt ends. Default 30s.
	Timeout time.Duration `yaml:"timeout"`
	// MinPause is the least time between the end of a checkpoint and the trigger of the next. As in Flink, a pause means that
	// checkpoints do not overlap, whatever max_concurrent says. Default 0.
	MinPause time.Duration `yaml:"min_pause"`
	// MaxConcurrent is how many checkpoints may be under way at once, 1 to 3. Default 1.
	MaxConcurrent int `yaml:"max_concurrent"`
	// TolerableFailures is how many attempts in a row may end because a checkpoint failed or expired before the job does.
	// Any checkpoint that completes starts the count again, but for the one that every attempt begins with. Other failures
	// are the restart strategy's business. 0 tolerates none, as Flink does by default. Default 5: a restart is cheap here,
	// and a checkpoint may fail for something that passes, such as a broker that restarts.
	TolerableFailures *int `yaml:"tolerable_failures"`
	// Retained is how many completed checkpoints can be restored at least. Older ones stay until what they need is deleted, which
	// may be at the next checkpoint; the command checkpoints list says which are whole. Default 1.
	Retained int `yaml:"retained"`
	// Memory is the budget for state in memory, for the whole process: live values, deltas and Pebble's cache. Default 512MiB.
	Memory Bytes `yaml:"memory"`
	// BaseAfter is how many bytes of deltas gather before they are written into a new base; up to twice as many where the last base
	// wrote much. More means fewer uploads and a longer restore. Default 32MiB.
	BaseAfter Bytes `yaml:"base_after"`
	// LocalDir is the directory for working state. Nothing in it is needed to recover, it only makes a restart on the same
	// machine quicker. Default: "weir" in the user's cache directory, or in the temporary directory if there is none.
	LocalDir string `yaml:"local_dir"`
	// Mode is exactly_once or at_least_once. Default exactly_once.
	Mode Mode `yaml:"mode"`
	// Restart says whether and when a job that failed starts again.
	Restart RestartOptions `yaml:"restart"`
	// Storage is where checkpoints keep their files: a directory, or s3://BUCKET/PATH (gs:// and azblob:// in binaries built
	// with those tags). It is part of the checkpoint and has to survive the machine's restart. A directory that is not
	// absolute is below the working directory. Default "weir-state".
	Storage string `yaml:"storage"`
	// InlineThreshold is the size up to which a checkpoint's changes travel inside its record in the checkpoint topic,
	// without a file. At most 512KiB. Default 20KiB, Flink's.
	InlineThreshold Bytes `yaml:"inline_threshold"`
	// TransactionTimeout is after how long the broker aborts a transaction. It is longer than a checkpoint can take, and
	// at most the broker's transaction.max.timeout.ms. Default 90s.
	TransactionTimeout time.Duration `yaml:"transaction_timeout"`
	// KeyGroups is the number of units that keyed state is assigned in, the most parallelism that keyed operators can have.
	// It is fixed at the job's first start. 1 to 32768. Default 128.
	KeyGroups int `yaml:"key_groups"`
	// Prefix begins the job's names in Kafka: the checkpoint topic PREFIX.JOB.checkpoints and the transactional IDs
	// PREFIX.JOB.SHARD.SLOT. Another prefix is another job. Default "weir".
	Prefix string `yaml:"prefix"`
	// TopicReplication is the replication factor of the checkpoint topic when it is made; -1 is the broker's default.
	// Default -1.
	TopicReplication int `yaml:"topic_replication"`
	// Group is the consumer group in which offsets are committed, for lag dashboards. Default: the job's name.
	Group string `yaml:"group"`
}

// DefaultTolerableFailures is Options.TolerableFailures of a job that says nothing.
const DefaultTolerableFailures = 5

// EnsureDefaults sets what is zero to its default.
func (o *Options) EnsureDefaults() {
	set(&o.Interval, 200*time.Millisecond)
	set(&o.Timeout, 30*time.Second)
	set(&o.MaxConcurrent, 1)
	if o.TolerableFailures == nil {
		o.TolerableFailures = new(DefaultTolerableFailures)
	}
	set(&o.Retained, 1)
	set(&o.Memory, 512*MiB)
	set(&o.BaseAfter, 32*MiB)
	set(&o.LocalDir, defaultLocalDir())
	set(&o.Mode, ExactlyOnce)
	o.Restart.EnsureDefaults()
	set(&o.Storage, "weir-state")
	set(&o.InlineThreshold, 20*KiB)
	set(&o.TransactionTimeout, 90*time.Second)
	set(&o.KeyGroups, 128)
	set(&o.Prefix, "weir")
	set(&o.TopicReplication, -1)
}

func defaultLocalDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "weir")
}

// set gives a field its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

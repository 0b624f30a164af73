package sink

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/kafka"
)

// Slots is the number of transactional producers of a shard; checkpoint n uses slot n mod Slots. It is a constant of the
// format: two processes that counted slots differently could both commit.
const Slots = 4

// The modes of a job.
const (
	// ExactlyOnce writes records in the transaction of their checkpoint.
	ExactlyOnce = "exactly_once"
	// AtLeastOnce writes records outside it, visible at once and possibly twice; the pointer stays in the transaction.
	AtLeastOnce = "at_least_once"
)

// Config are the settings of the output side of a shard. Those with a YAML name are a user's business, the others the
// engine's.
type Config struct {
	// Fault is called at the steps of a fencing, for tests; nil in use.
	Fault fault.Hook `yaml:"-"`
	// Client is used, and not closed, if it is set; else Kafka says where to connect to.
	Client *kgo.Client `yaml:"-"`
	// Kafka is the cluster that all sinks of the job and its checkpoint topic share.
	Kafka kafka.Config `yaml:"-"`
	// Job and Shard are part of the transactional IDs.
	Job   string `yaml:"-"`
	Shard int    `yaml:"-"`
	// Prefix begins the transactional IDs <prefix>.<job>.<shard>.<slot>. Default: weir.
	Prefix string `yaml:"-"`
	// CheckpointTopic and Partition say where pointers go.
	CheckpointTopic string `yaml:"-"`
	Partition       int32  `yaml:"-"`
	// Group is the group whose offsets the transactions commit. Default: the job's name.
	Group string `yaml:"-"`
	// Mode is exactly_once or at_least_once. Default: exactly_once.
	Mode string `yaml:"-"`
	// TransactionTimeout is when the brokers abort a transaction that has not been committed. Default: 90s.
	TransactionTimeout time.Duration `yaml:"-"`
	// Compression is none, snappy, lz4 or zstd. Default: snappy.
	Compression string `yaml:"compression"`
	// MaxBuffered is how many bytes of records, uncompressed, may wait for the brokers before writing blocks; less where
	// they are slow, so that checkpoints end in time. Default: 64 MiB.
	MaxBuffered int64 `yaml:"max_buffered"`
	// Patience is how long what is written may take until it is acknowledged: less may wait where the brokers are slow, down to
	// 256 KiB. Default: 10s.
	Patience time.Duration `yaml:"-"`
	// MaxBatchBytes bounds a record batch, uncompressed; topics that take less lower it. Default: 1 MiB.
	MaxBatchBytes int `yaml:"max_batch_bytes"`
	// RequestTimeout is how long a record batch, or any other call to a broker, may take with all its retries before the
	// attempt ends. Default: 30s.
	RequestTimeout time.Duration `yaml:"request_timeout"`
	// Now is the engine's clock, in milliseconds since the Unix epoch, for what is stored and shown; nil for the system's. What is
	// measured is measured on the system's steady clock.
	Now func() int64 `yaml:"-"`
	// Logger gets what is worth knowing; nil discards.
	Logger *slog.Logger `yaml:"-"`
}

// EnsureDefaults sets what was left empty.
func (c *Config) EnsureDefaults() {
	if c.Prefix == "" {
		c.Prefix = "weir"
	}
	if c.Group == "" {
		c.Group = c.Job
	}
	if c.Mode == "" {
		c.Mode = ExactlyOnce
	}
	if c.TransactionTimeout == 0 {
		c.TransactionTimeout = 90 * time.Second
	}
	if c.Compression == "" {
		c.Compression = "snappy"
	}
	if c.MaxBuffered == 0 {
		c.MaxBuffered = 64 << 20
	}
	if c.Patience == 0 {
		c.Patience = 10 * time.Second
	}
	if c.MaxBatchBytes == 0 {
		c.MaxBatchBytes = 1 << 20
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 30 * time.Second
	}
	if c.Now == nil {
		c.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate reports every mistake, joined.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Job == "" {
		bad("job: no name")
	}
	if c.Shard < 0 || c.Partition < 0 {
		bad("shard: %d and partition %d must not be negative", c.Shard, c.Partition)
	}
	if c.CheckpointTopic == "" {
		bad("checkpoint topic: no name")
	}
	if c.Mode != ExactlyOnce && c.Mode != AtLeastOnce {
		bad("mode: %q is neither %s nor %s", c.Mode, ExactlyOnce, AtLeastOnce)
	}
	if !slices.Contains(Compressions, c.Compression) {
		bad("compression: %q is none of %s", c.Compression, strings.Join(Compressions, ", "))
	}
	if c.MaxBuffered < 1<<16 {
		bad("max_buffered: %d is less than 65536", c.MaxBuffered)
	}
	if c.MaxBatchBytes < 1<<10 || c.MaxBatchBytes > 1<<26 {
		bad("max_batch_bytes: %d is not between 1024 and 67108864", c.MaxBatchBytes)
	}
	if c.TransactionTimeout < time.Millisecond || c.RequestTimeout < time.Millisecond {
		bad("transaction timeout %s and request_timeout %s must be at least 1ms", c.TransactionTimeout, c.RequestTimeout)
	}
	return errors.Join(errs...)
}

// TransactionalID is the name of a slot's transactions: <prefix>.<job>.<shard>.<slot>.
func TransactionalID(prefix, job string, shard, slot int) string {
	return prefix + "." + job + "." + strconv.Itoa(shard) + "." + strconv.Itoa(slot)
}

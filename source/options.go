package source

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/kafka"
)

// KafkaOptions says which topics a source reads, from where to where, and how.
type KafkaOptions struct {
	// Topics are the topics to read, with all their partitions. At least one; they must exist.
	Topics []string `yaml:"topics"`

	// Start is where the first start of a job begins: earliest (the default), latest, timestamp (see start_timestamp), group
	// (the committed offsets of start_group; a partition without one begins at the earliest) or offsets (see start_offsets).
	// It is resolved once and kept in the first checkpoint; later starts go on from the checkpoint. Partitions that
	// appear later are always read from their beginning.
	Start string `yaml:"start"`
	// StartTimestamp is where start: timestamp begins: at the first record whose timestamp is not before it; at the end if
	// there is none.
	StartTimestamp time.Time `yaml:"start_timestamp"`
	// StartOffsets holds for start: offsets the first offset to read, by topic and partition. A partition that is not listed
	// begins at the earliest.
	StartOffsets map[string]map[int32]int64 `yaml:"start_offsets"`
	// StartGroup is the consumer group whose committed offsets start: group takes; default: the job's own group.
	StartGroup string `yaml:"start_group"`

	// StopAt makes the source end by itself: latest (what can be read when the job is first started), timestamp (see
	// stop_timestamp) or offsets (see stop_offsets). Empty: it never ends. It is resolved once and kept, like Start.
	// Without stop_at, a job that is restored from one that had it goes on past that end.
	StopAt string `yaml:"stop_at"`
	// StopTimestamp ends each partition before the first record whose timestamp is not before it; at what can be read at the
	// first start if there is none.
	StopTimestamp time.Time `yaml:"stop_timestamp"`
	// StopOffsets holds for stop_at: offsets the offset to end before, by topic and partition. Every partition must be listed.
	StopOffsets map[string]map[int32]int64 `yaml:"stop_offsets"`

	// Isolation is read_committed (the default) or read_uncommitted: whether records of open and aborted transactions are
	// read.
	Isolation string `yaml:"isolation"`
	// OnDataLoss says what happens when records expired before they were read: fail (the default) or earliest, which goes on
	// at the start of the log and logs what is missing. A log that was cut at its end always fails.
	OnDataLoss string `yaml:"on_data_loss"`
	// IdleTimeout is how long a partition must have had nothing new, with the last fetch at the end of the log, to
	// count as idle, so that it does not hold event time back. Default 5s; negative: never. It is noticed at most
	// fetch_max_wait later. A partition with records behind an open transaction is not idle.
	IdleTimeout time.Duration `yaml:"idle_timeout"`
	// DiscoveryInterval is how often new partitions are looked for. Default 10s; negative: never. A source with stop_at
	// does not look.
	DiscoveryInterval time.Duration `yaml:"discovery_interval"`

	// FetchMaxBytes is how much one fetch from one broker may bring, in bytes as stored. Default 4 MiB. A single record batch
	// that is larger is read all the same.
	FetchMaxBytes int32 `yaml:"fetch_max_bytes"`
	// PartitionMaxBytes is how much one fetch may bring of one partition, in bytes as stored. Default 1 MiB.
	PartitionMaxBytes int32 `yaml:"partition_max_bytes"`
	// FetchMaxWait is how long a broker holds a fetch back when there is nothing new. Default 500ms.
	FetchMaxWait time.Duration `yaml:"fetch_max_wait"`
	// MaxBatchRecords is how many records the source hands on at once. Default 1000.
	MaxBatchRecords int `yaml:"max_batch_records"`
}

// EnsureDefaults fills in what was left at zero.
func (o *KafkaOptions) EnsureDefaults() {
	setDefault(&o.Start, "earliest")
	setDefault(&o.Isolation, "read_committed")
	setDefault(&o.OnDataLoss, "fail")
	setDefault(&o.IdleTimeout, 5*time.Second)
	setDefault(&o.DiscoveryInterval, 10*time.Second)
	setDefault(&o.FetchMaxBytes, 4<<20)
	setDefault(&o.PartitionMaxBytes, 1<<20)
	setDefault(&o.FetchMaxWait, 500*time.Millisecond)
	setDefault(&o.MaxBatchRecords, 1000)
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Validate reports every mistake, joined. It expects [KafkaOptions.EnsureDefaults] to have been called.
func (o *KafkaOptions) Validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	oneOf := func(field, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			add("%s: %q is not one of %s", field, value, strings.Join(allowed, ", "))
		}
	}
	// belongs reports a value that is set although the mode it belongs to is not chosen, and the reverse.
	belongs := func(field string, set bool, mode, value, wanted string) {
		switch {
		case set && value != wanted:
			add("%s: needs %s: %s", field, mode, wanted)
		case !set && value == wanted:
			add("%s: missing (%s is %s)", field, mode, wanted)
		}
	}

	if len(o.Topics) == 0 {
		add("topics: missing: name at least one topic")
	}
	for i, t := range o.Topics {
		if err := kafka.CheckName(t); err != nil {
			add("topics: %w", err)
		}
		if slices.Contains(o.Topics[:i], t) {
			add("topics: %s is listed twice", t)
		}
	}
	oneOf("start", o.Start, "earliest", "latest", "timestamp", "group", "offsets")
	belongs("start_timestamp", !o.StartTimestamp.IsZero(), "start", o.Start, "timestamp")
	belongs("start_offsets", len(o.StartOffsets) > 0, "start", o.Start, "offsets")
	if o.StartGroup != "" && o.Start != "group" {
		add("start_group: needs start: group")
	}
	if o.StopAt != "" {
		oneOf("stop_at", o.StopAt, "latest", "timestamp", "offsets")
	}
	belongs("stop_timestamp", !o.StopTimestamp.IsZero(), "stop_at", o.StopAt, "timestamp")
	belongs("stop_offsets", len(o.StopOffsets) > 0, "stop_at", o.StopAt, "offsets")
	o.checkOffsets(add, "start_offsets", o.StartOffsets)
	o.checkOffsets(add, "stop_offsets", o.StopOffsets)
	oneOf("isolation", o.Isolation, "read_committed", "read_uncommitted")
	oneOf("on_data_loss", o.OnDataLoss, "fail", "earliest")
	if o.FetchMaxBytes < 1024 {
		add("fetch_max_bytes: %d is less than 1024", o.FetchMaxBytes)
	}
	if o.PartitionMaxBytes < 1024 {
		add("partition_max_bytes: %d is less than 1024", o.PartitionMaxBytes)
	}
	if o.FetchMaxWait < time.Millisecond || o.FetchMaxWait > 10*time.Second {
		add("fetch_max_wait: %s is not between 1ms and 10s", o.FetchMaxWait)
	}
	if o.MaxBatchRecords < 1 {
		add("max_batch_records: %d is less than 1", o.MaxBatchRecords)
	}
	return errors.Join(errs...)
}

func (o *KafkaOptions) checkOffsets(add func(string, ...any), field string, offsets map[string]map[int32]int64) {
	for _, topic := range slices.Sorted(maps.Keys(offsets)) {
		if !slices.Contains(o.Topics, topic) {
			add("%s: topic %s is not among the topics", field, topic)
		}
		for _, p := range slices.Sorted(maps.Keys(offsets[topic])) {
			if p < 0 || offsets[topic][p] < 0 {
				add("%s: topic %s partition %d: offset %d: neither may be negative", field, topic, p, offsets[topic][p])
			}
		}
	}
}

// bounded reports whether the source ends by itself.
func (o *KafkaOptions) bounded() bool { return o.StopAt != "" }

func (o *KafkaOptions) committedOnly() bool { return o.Isolation == "read_committed" }

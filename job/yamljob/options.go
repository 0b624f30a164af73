package yamljob

import (
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/source"
)

// fileOptions is a whole job file.
type fileOptions struct {
	Job         string `yaml:"job"`
	job.Options `yaml:",inline"`
	Source      *yamlfile.Node `yaml:"source"`
	Operators   *yamlfile.Node `yaml:"operators"`
	Sink        *yamlfile.Node `yaml:"sink"`
}

// SourceOptions is one entry of source: its key is the step's name.
type SourceOptions struct {
	source.KafkaOptions `yaml:",inline"`
	// Kafka is the cluster to read from, if it is not the job's.
	Kafka *job.Kafka `yaml:"kafka"`
	// Format is json (the default): each value is a JSON object; or raw: values are taken as they are, and the fields are key,
	// value, timestamp, topic, partition and offset.
	Format string `yaml:"format"`
	// Fields are the fields to read out of the JSON objects, by name, with their types: int, float, string, bool, timestamp
	// (RFC 3339, or a number of milliseconds; timestamp_s, timestamp_us, timestamp_ns for numbers in other units) or json.
	Fields *yamlfile.Node `yaml:"fields"`
	// OnBadRecord says what happens to a record that does not fit: fail (the default), skip or dead_letter.
	OnBadRecord string `yaml:"on_bad_record"`
	// DeadLetterTopic is where on_bad_record: dead_letter writes.
	DeadLetterTopic string `yaml:"dead_letter_topic"`
	// Parallelism is the number of subtasks. Default: the job's.
	Parallelism int `yaml:"parallelism"`
}

// OperatorOptions is one item of operators. Exactly one of filter, map, key_by, event_time, aggregate and union says what it does.
type OperatorOptions struct {
	// Name is the step's name, the identity of its state.
	Name string `yaml:"name"`
	// Input is the step that it reads. Default: the one before; for the first one the only source.
	Input string `yaml:"input"`
	// Parallelism is the number of subtasks. Default: the job's.
	Parallelism int `yaml:"parallelism"`
	// Filter is a condition: only records for which it is true go on.
	Filter *yamlfile.Node `yaml:"filter"`
	// Map makes a new record of expressions by field name.
	Map *yamlfile.Node `yaml:"map"`
	// KeyBy gives each record a key: a field, a list of fields, or expressions by name.
	KeyBy *yamlfile.Node `yaml:"key_by"`
	// EventTime takes the event time out of a record and makes watermarks.
	EventTime *EventTimeOptions `yaml:"event_time"`
	// Aggregate computes aggregates by field name, for each key.
	Aggregate *yamlfile.Node `yaml:"aggregate"`
	// Drop names aggregates that an earlier version of the job had and that are given up: their state goes. Without it, a
	// start from such a version's state is refused, since the aggregate may only have been renamed.
	Drop []string `yaml:"drop"`
	// Window divides what aggregate sees by event time. Without it, each record brings a new result for its key.
	Window *WindowOptions `yaml:"window"`
	// TTL ends the state of an aggregate without a window: a key without a record for so long begins anew. The time is event
	// time, if the step has an event_time above it, else processing time.
	TTL time.Duration `yaml:"ttl"`
	// Union merges steps whose records have the same fields.
	Union []string `yaml:"union"`
}

// EventTimeOptions are those of event_time.
type EventTimeOptions struct {
	// Field is the timestamp: a field, or an expression.
	Field *yamlfile.Node `yaml:"field"`
	// Bound is how much later than a record with a greater time another of its partition may come and still be in time.
	Bound time.Duration `yaml:"bound"`
	// MaxDrift aligns partitions: one whose event time is more than that ahead of that of another, of any source whose event_time has a
	// max_drift, is not read on until the other has followed, if the other has something to read. Default 0: any.
	MaxDrift time.Duration `yaml:"max_drift"`
}

// WindowOptions are those of window. Exactly one of tumbling, hopping and session is given.
type WindowOptions struct {
	// Tumbling is the size of windows that follow each other.
	Tumbling time.Duration `yaml:"tumbling"`
	// Hopping is the size of windows that begin slide apart.
	Hopping time.Duration `yaml:"hopping"`
	// Slide is how far apart hopping windows begin.
	Slide time.Duration `yaml:"slide"`
	// Session is the gap without records that ends a session.
	Session time.Duration `yaml:"session"`
	// Offset moves tumbling and hopping windows, which begin at the Unix epoch otherwise.
	Offset time.Duration `yaml:"offset"`
	// AllowedLateness keeps a window after the watermark has passed its end; a late record makes it emit again.
	AllowedLateness time.Duration `yaml:"allowed_lateness"`
	// Late names the side output of the records that come later still: another step reads it by this name.
	Late string `yaml:"late"`
}

// SinkOptions is one entry of sink: its key is the step's name.
type SinkOptions struct {
	// Topic is the topic that results are written to. It must exist.
	Topic string `yaml:"topic"`
	// Input is the step that it writes. Default: the last operator; without operators the only source.
	Input string `yaml:"input"`
	// Format is json (the default): records become JSON objects, but those that nothing has changed keep their bytes; or raw: the field value is
	// written as it is.
	Format string `yaml:"format"`
	// Key is an expression for the key of the records written. Default: the key of the last key_by, or that of the record read.
	Key *yamlfile.Node `yaml:"key"`
	// Timestamps says how JSON objects show timestamps: rfc3339 (the default; UTC, with milliseconds) or ms (a number).
	Timestamps string `yaml:"timestamps"`
	// OnBadRecord says what happens to a result that the topic does not take: fail (the default), skip or dead_letter.
	OnBadRecord string `yaml:"on_bad_record"`
	// DeadLetterTopic is where on_bad_record: dead_letter writes.
	DeadLetterTopic string `yaml:"dead_letter_topic"`
	// Parallelism is the number of subtasks. Default: the job's.
	Parallelism int `yaml:"parallelism"`
}

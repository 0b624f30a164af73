package sink

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/internal/kafka"
)

// KafkaOptions are the options of one Kafka sink.
type KafkaOptions struct {
	// Topic is the topic that results are written to. It must exist: only internal topics are created.
	Topic string `yaml:"topic"`
}

// Spec describes a sink before the job runs: what job.To takes.
type Spec struct{ Kafka KafkaOptions }

// Kafka is a sink that writes to a Kafka topic, in the transactions of the job.
func Kafka(o KafkaOptions) Spec { return Spec{Kafka: o} }

// Validate reports what is wrong with the options.
func (s Spec) Validate() error {
	if s.Kafka.Topic == "" {
		return errors.New("no topic: set the topic that results are written to")
	}
	if err := kafka.CheckName(s.Kafka.Topic); err != nil {
		return fmt.Errorf("topic: %w", err)
	}
	return nil
}

// Options are the settings of the producer that all sinks of a job share. Zero means default.
type Options struct {
	// Compression is none, snappy, lz4 or zstd. Default snappy.
	Compression string `yaml:"compression"`
	// MaxBuffered is how many bytes of records, uncompressed, may wait for the brokers before writing blocks; less where
	// they are slow, so that checkpoints end in time. Default 64 MiB.
	MaxBuffered int64 `yaml:"max_buffered"`
	// MaxBatchBytes bounds a record batch, uncompressed; topics that take less lower it. Default 1 MiB.
	MaxBatchBytes int `yaml:"max_batch_bytes"`
	// RequestTimeout is how long a record batch, or any other call to a broker, may take with all its retries before the
	// attempt ends. Default 30s.
	RequestTimeout time.Duration `yaml:"request_timeout"`
}

// Validate reports every mistake, joined.
func (o Options) Validate() error {
	c := Config{
		Job: "job", CheckpointTopic: "topic",
		Compression: o.Compression, MaxBuffered: o.MaxBuffered, MaxBatchBytes: o.MaxBatchBytes, RequestTimeout: o.RequestTimeout,
	}
	c.EnsureDefaults()
	return c.Validate()
}

package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
)

// Dial makes a client of the source's cluster. The caller closes it.
type Dial func(ctx context.Context, extra ...kgo.Opt) (*kgo.Client, error)

// Env is what a source needs of the job that it is part of.
type Env struct {
	Dial Dial
	// Name is the name of the source step.
	Name string
	// Group is the job's consumer group, for start: group.
	Group string
	// Now is the engine's clock in milliseconds since the Unix epoch; nil for the system's.
	Now func() int64
	// Steady is a clock that nobody sets, in milliseconds since any moment, by which idleness is measured; nil for the
	// system's.
	Steady func() int64
	// Rest says how long what comes may be left with the brokers, 0 or less for not at all; nil for never. It is asked after a
	// fetch that brought all that there was, and little, and is told how long that took. Several goroutines may call it at a time.
	Rest func(took time.Duration) time.Duration
	// TimeAlignment is the job's, nil for none.
	TimeAlignment *TimeAlignment
	// Logger may be nil.
	Logger *slog.Logger
}

// Spec describes a source before it runs.
type Spec struct {
	Kafka KafkaOptions
}

// Kafka describes a source that reads Kafka topics.
func Kafka(o KafkaOptions) Spec { return Spec{Kafka: o} }

// Validate reports every mistake in the options, joined.
func (s Spec) Validate() error {
	s.Kafka.EnsureDefaults()
	return s.Kafka.Validate()
}

// Open connects to the cluster. The source is closed by the caller.
func (s Spec) Open(ctx context.Context, env Env) (Source, error) {
	s.Kafka.EnsureDefaults()
	if err := s.Kafka.Validate(); err != nil {
		return nil, fmt.Errorf("source %s: %w", env.Name, err)
	}
	if env.Now == nil {
		env.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if env.Steady == nil {
		began := time.Now()
		env.Steady = func() int64 { return time.Since(began).Milliseconds() }
	}
	if env.Rest == nil {
		env.Rest = func(time.Duration) time.Duration { return 0 }
	}
	if env.TimeAlignment == nil {
		env.TimeAlignment = NewTimeAlignment()
	}
	if env.Logger == nil {
		env.Logger = slog.New(slog.DiscardHandler)
	}
	env.Logger = env.Logger.With("operator", env.Name)
	client, err := env.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", env.Name, err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	return &kafkaSource{
		opts: s.Kafka, env: env, client: client, life: life, endLife: end,
		ids:   map[string][16]byte{},
		known: map[partitionKey]bool{},
		ends:  map[partitionKey]*atomic.Int64{},
	}, nil
}

// OwnerOf returns the subtask that a discovered partition belongs to.
func OwnerOf(topic string, partition int32, parallelism int) int {
	b := binary.BigEndian.AppendUint32([]byte(topic), uint32(partition))
	return int(xxhash.Sum64(b) % uint64(parallelism))
}

// Discovery is what a source knows of its partitions, for metrics. The sources of this package have it.
type Discovery interface {
	// Discovered returns when partitions were last looked for (milliseconds since the Unix epoch, 0 for never) and how
	// many the source's topics have.
	Discovered() (at int64, partitions int)
}

type partitionKey struct {
	topic     string
	partition int32
}

type kafkaSource struct {
	opts   KafkaOptions
	env    Env
	client *kgo.Client // of Resolve; each reader has its own, as a fetch holds a connection until there is something

	// life ends with the source. It is that of connecting for readers that do not run yet: see dialed.
	life    context.Context
	endLife context.CancelFunc
	// waiting are the clients that no reader has taken.
	waiting []*dialed

	lookedAt   atomic.Int64
	partitions atomic.Int64

	mu sync.RWMutex
	// ids are the topic IDs as of Resolve.
	ids map[string][16]byte
	// known are the partitions that Resolve returned, of all subtasks: what is not among them is new.
	known map[partitionKey]bool
	// ends are the high watermarks.
	ends map[partitionKey]*atomic.Int64
}

func (s *kafkaSource) topicID(name string) [16]byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ids[name]
}

func (s *kafkaSource) Close() {
	s.endLife()
	s.client.Close()
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, d := range waiting {
		if <-d.done; d.err == nil { // a dial ends by itself
			d.client.Close()
		}
	}
}

func (s *kafkaSource) Topics() []checkpoint.Topic {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var topics []checkpoint.Topic
	for _, name := range s.opts.Topics {
		if id, ok := s.ids[name]; ok {
			topics = append(topics, checkpoint.Topic{Role: "source", Step: s.env.Name, Name: name, ID: id})
		}
	}
	return topics
}

func (s *kafkaSource) HighWatermark(topic string, partition int32) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if end := s.ends[partitionKey{topic, partition}]; end != nil {
		return end.Load()
	}
	return -1
}

// end returns the place of a partition's high watermark.
func (s *kafkaSource) end(key partitionKey) *atomic.Int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends[key] == nil {
		s.ends[key] = new(atomic.Int64)
		s.ends[key].Store(-1)
	}
	return s.ends[key]
}

func (s *kafkaSource) Discovered() (at int64, partitions int) {
	return s.lookedAt.Load(), int(s.partitions.Load())
}

func (s *kafkaSource) Reader(subtask, parallelism int, splits []checkpoint.Split) (Reader, error) {
	if parallelism < 1 || subtask < 0 || subtask >= parallelism {
		return nil, fmt.Errorf("source %s: subtask %d of %d", s.env.Name, subtask, parallelism)
	}
	r := &kafkaReader{src: s, subtask: subtask, parallelism: parallelism, initial: slices.Clone(splits), ahead: dialAhead(s.life, s.env.Dial)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, r.ahead)
	return r, nil
}

// located adds the step's name to an error, but for the end of a context.
func (s *kafkaSource) located(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("source %s: %w", s.env.Name, err)
}

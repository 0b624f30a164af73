package sink

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafka"
)

// errClosed is what calls get after Close.
var errClosed = errors.New("the sink is closed")

// maxEncoders is the number of goroutines that compress.
var maxEncoders = min(runtime.GOMAXPROCS(0), 4)

// KafkaTransactions are the [Transactions] of a shard on a Kafka cluster.
type KafkaTransactions struct {
	config  Config
	client  *kgo.Client
	own     bool // Close closes the client
	cluster *kafka.Cluster
	// second is a client for further connections; nil until much is written.
	second   *kgo.Client
	secondMu sync.Mutex
	codec    *codec
	// version is the cluster's transaction.version as of Fence.
	version int

	topicsMu sync.Mutex // held while a topic is looked up
	topics   map[string]*topic

	coordinatorsMu sync.Mutex
	coordinators   map[coordinatorKey]int32

	mu      sync.Mutex
	slots   [Slots]*slot
	begin   int64
	brokers map[int32]*broker
	// committed is the latest checkpoint that this attempt committed.
	committed int64
	// unmarked are the transactions that had no marker at the last look (Unsettled), which has one caller at a time.
	unmarked []undecided
	toEncode []*batch
	encode   sync.Cond // there is something to encode
	space    sync.Cond // there is room for more records
	pace     pace
	parked   []*partition
	kick     chan struct{} // there is something parked
	err      error

	// buffered is what waits for the brokers, full that this is as much as pace has room for: writers wait then.
	buffered                          atomic.Int64
	full                              atomic.Bool
	room                              atomic.Int64 // pace.room, for who has not the lock
	broken                            atomic.Bool  // err is set
	failed                            chan struct{}
	records, bytes, batches, requests atomic.Int64

	spawn  func(func(context.Context))
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// NewTransactions makes the output side of a shard for one attempt. It connects if c has no client. Fence comes next.
func NewTransactions(ctx context.Context, c Config) (*KafkaTransactions, error) {
	c.EnsureDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	codec, err := newCodec(c.Compression)
	if err != nil {
		return nil, err
	}
	t := &KafkaTransactions{
		config: c, client: c.Client, codec: codec,
		topics: map[string]*topic{}, coordinators: map[coordinatorKey]int32{}, brokers: map[int32]*broker{},
		kick: make(chan struct{}, 1), failed: make(chan struct{}), pace: newPace(c.Patience, c.MaxBuffered),
	}
	if t.client == nil {
		if t.client, err = kafka.Dial(ctx, c.Kafka); err != nil {
			return nil, err
		}
		t.own = true
	}
	t.cluster = kafka.NewCluster(t.client)
	for i := range t.slots {
		t.slots[i] = &slot{name: TransactionalID(c.Prefix, c.Job, c.Shard, i)}
		t.slots[i].end()
	}
	t.room.Store(t.pace.room)
	t.encode.L, t.space.L = &t.mu, &t.mu
	life, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.spawn = func(fn func(context.Context)) { t.wg.Go(func() { fn(life) }) }
	for range maxEncoders {
		t.spawn(func(context.Context) { t.runEncoder() })
	}
	t.spawn(t.runRetrier)
	return t, nil
}

// Begin says which checkpoint the records written from now on belong to.
func (t *KafkaTransactions) Begin(checkpoint int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begin = checkpoint
}

// Failed is closed when the attempt cannot go on.
func (t *KafkaTransactions) Failed() <-chan struct{} { return t.failed }

// Err is why Failed is closed, nil before.
func (t *KafkaTransactions) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// fail ends the attempt: the first error stays, everybody who waits learns of it.
func (t *KafkaTransactions) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failLocked(err)
}

func (t *KafkaTransactions) failLocked(err error) {
	if t.err != nil {
		return
	}
	t.err = err
	t.broken.Store(true)
	close(t.failed)
	t.encode.Broadcast()
	t.space.Broadcast()
	for _, b := range t.brokers {
		b.wake.Broadcast()
	}
}

// Flush waits until all records of the checkpoint are acknowledged.
func (t *KafkaTransactions) Flush(ctx context.Context, checkpoint int64) error {
	t.mu.Lock()
	s := t.slots[slotOf(checkpoint)]
	if t.err != nil || s.checkpoint != checkpoint || s.pending == 0 {
		defer t.mu.Unlock()
		return t.err
	}
	if s.drained == nil {
		s.drained = make(chan struct{})
	}
	drained, pending := s.drained, s.pending
	t.mu.Unlock()
	select {
	case <-drained:
		return t.Err()
	case <-t.failed:
		return t.Err()
	case <-ctx.Done():
		return fmt.Errorf("transaction %s: waiting for %d record batches to be acknowledged: %w", s.name, pending, ctx.Err())
	}
}

// OldestOpen is when the oldest transaction that has records and is not committed began, in milliseconds since the Unix
// epoch; 0 if there is none.
func (t *KafkaTransactions) OldestOpen() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	oldest := time.Duration(-1)
	for _, s := range t.slots {
		if !s.began.IsZero() {
			oldest = max(oldest, time.Since(s.began))
		}
	}
	if oldest < 0 {
		return 0
	}
	// By today's clock, so that its age is right also after the clock was set.
	return t.config.Now() - oldest.Milliseconds()
}

// Stats count what has been acknowledged since the attempt began.
type Stats struct {
	// Records and Batches are counts; Bytes is the size of the batches as sent.
	Records, Batches, Bytes int64
	// Requests counts produce requests.
	Requests int64
	// Buffered is the bytes of records, uncompressed, that wait for the brokers now.
	Buffered int64
}

// Stats returns the counts; it may be called at any time.
func (t *KafkaTransactions) Stats() Stats {
	return Stats{t.records.Load(), t.batches.Load(), t.bytes.Load(), t.requests.Load(), t.buffered.Load()}
}

// TransactionVersion is the cluster's finalized transaction.version, known after Fence.
func (t *KafkaTransactions) TransactionVersion() int { return t.version }

// Interrupt ends every wait of writers, and lets calls fail.
func (t *KafkaTransactions) Interrupt() { t.fail(errClosed) }

// Close releases connections and returns when every goroutine has ended. What is not acknowledged is dropped; the next
// attempt's Fence aborts it. Calls that wait for the brokers must have returned, or have their context cancelled.
func (t *KafkaTransactions) Close() {
	t.fail(errClosed)
	t.cancel()
	t.wg.Wait()
	if t.second != nil {
		t.second.Close()
	}
	if t.own {
		t.client.Close()
	}
}

// bounded returns ctx with the deadline of one call.
func (t *KafkaTransactions) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.config.RequestTimeout)
}

var _ Transactions = (*KafkaTransactions)(nil)

package sink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/stream"
)

const (
	// eagerBytes is how much an open batch holds before it is sent although it is not full, if nothing else of its partition
	// is on its way.
	eagerBytes = 128 << 10
	// firstBytes is how much the first batch of a transaction holds before it is sent, with all that hold an eighth of that: so
	// their partitions are in the transaction, which costs the brokers a write of their own, before everybody waits for the commit.
	firstBytes = 16 << 10
	// leastBatch is what a batch may hold however little may wait.
	leastBatch = 4 << 10
	// defaultMaxMessage is what a topic takes if we are not allowed to ask.
	defaultMaxMessage = 1048588
)

// topic looks a topic up, once.
func (t *KafkaTransactions) topic(ctx context.Context, name string) (*topic, error) {
	t.topicsMu.Lock()
	defer t.topicsMu.Unlock()
	if found := t.topics[name]; found != nil {
		return found, nil
	}
	found, err := t.cluster.WaitTopic(ctx, name)
	if err != nil {
		return nil, err
	}
	maxMessage := defaultMaxMessage
	settings, err := t.cluster.TopicSettings(ctx, name)
	switch {
	case err == nil:
		maxMessage = settings.MaxMessageBytes
	case kafka.IsAuthorization(err):
		t.config.Logger.Warn("settings of a topic cannot be read: max.message.bytes is taken to be Kafka's default", "topic", name, "error", err)
	default:
		return nil, err
	}
	made := &topic{name: name, id: found.ID, maxMessage: maxMessage}
	made.recompressed = settings.Compression != "" && settings.Compression != "producer" && settings.Compression != t.config.Compression
	if made.recompressed {
		maxMessage -= maxMessage / 64 // a batch that does not compress may grow a little
	}
	made.maxBatch = min(maxMessage, t.config.MaxBatchBytes, max(16<<10, int(t.config.MaxBuffered)/(4*len(found.Partitions))))
	for i, p := range found.Partitions {
		if int(p.Index) != i {
			return nil, fmt.Errorf("topic %s: partition %d is missing", name, i)
		}
		made.partitions = append(made.partitions, &partition{topic: made, index: p.Index, leader: p.Leader})
	}
	t.topics[name] = made
	return made, nil
}

// writer is the [Writer] of one subtask. Its open batches are its own until they are queued.
type writer struct {
	t     *KafkaTransactions
	topic *topic
	// checkpoint is what records belong to now; 0 before the first.
	checkpoint    int64
	transactional bool
	// open has the open batch of each partition, and hint how large the last one became.
	open []*batch
	hint []int
	// sticky is the partition of records without a key, until its batch is queued.
	sticky int
	sealed []*batch // scratch
	// eager is how much a batch holds before it is sent: firstBytes in the beginning of a checkpoint, then eagerBytes.
	eager int
	// most is the limit for a pace with that room.
	most int
	room int64
}

// Writer makes a writer to a topic, which must exist. Its number of partitions is looked up once an attempt.
func (t *KafkaTransactions) Writer(ctx context.Context, name string) (Writer, error) {
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	topic, err := t.topic(ctx, name)
	if err != nil {
		return nil, err
	}
	n := len(topic.partitions)
	return &writer{
		t: t, topic: topic, transactional: t.config.Mode == ExactlyOnce,
		open: make([]*batch, n), hint: make([]int, n), sticky: rand.IntN(n), eager: firstBytes,
	}, nil
}

// Write appends a record; see [Writer].
func (w *writer) Write(rec *stream.Record) error {
	if w.t.broken.Load() {
		return w.t.Err()
	}
	i := w.sticky
	if rec.Key != nil {
		i = int(partitionOf(rec.Key, len(w.open)))
	}
	b := w.open[i]
	if b == nil {
		var err error
		if b, err = w.start(i); err != nil {
			return err
		}
	}
	body, total := b.recordSize(rec)
	if len(b.raw.b)+total > w.limit() {
		return w.overflow(i, rec)
	}
	b.append(rec, body, total, w.topic.maxBatch)
	switch {
	case len(b.raw.b) < w.eager:
		return nil
	case w.eager == firstBytes:
		w.eager = eagerBytes
		if w.transactional {
			return w.flush(firstBytes / 8)
		}
		return nil
	case w.topic.partitions[i].pending.Load() == 0:
		return w.seal(i)
	}
	return nil
}

// limit is what a batch is filled up to: less where little may wait, since what open batches hold has to be sent too before
// the checkpoint can end.
func (w *writer) limit() int {
	if room := w.t.room.Load(); room != w.room {
		w.room = room
		w.most = min(w.topic.maxBatch, max(leastBatch, int(room)/(4*len(w.open))))
	}
	return w.most
}

// overflow writes a record that does not fit into the open batch: into the next, or, if it is larger than a batch is meant
// to be, into one of its own.
func (w *writer) overflow(i int, rec *stream.Record) error {
	if w.open[i].n > 0 {
		if err := w.seal(i); err != nil {
			return err
		}
		if rec.Key == nil {
			i = w.sticky
		}
		if w.open[i] != nil {
			return w.Write(rec)
		}
		if _, err := w.start(i); err != nil {
			return err
		}
	}
	b := w.open[i]
	body, total := b.recordSize(rec)
	if err := w.t.fits(w.topic.partitions[i], b, rec, body, total); err != nil {
		return err
	}
	if b.n == 0 {
		b.append(rec, body, total, w.topic.maxBatch)
	}
	if len(b.raw.b) >= w.topic.maxBatch {
		return w.seal(i)
	}
	return nil
}

// fits checks that the topic takes a record as the only one of batch b. If it does so only compressed, the record is
// appended; else b is as before.
func (t *KafkaTransactions) fits(p *partition, b *batch, rec *stream.Record, body, total int) error {
	most, size := p.topic.maxMessage, headerSize+total
	if size <= most {
		return nil
	}
	tooLarge := &TooLargeError{Topic: p.topic.name, Partition: p.index, Size: size, Max: most}
	if t.codec.attribute == 0 || p.topic.recompressed {
		return tooLarge
	}
	b.append(rec, body, total, size)
	try := getBuffer(t.codec.bound(total))
	defer putBuffer(try)
	try.b = t.codec.compress(try.b[:0], b.raw.b[headerSize:])
	if tooLarge.Compressed = headerSize + len(try.b); tooLarge.Compressed <= most {
		return nil
	}
	b.raw.b, b.n = b.raw.b[:headerSize], 0
	return tooLarge
}

// start opens a batch. It blocks while too much is unacknowledged.
func (w *writer) start(i int) (*batch, error) {
	t := w.t
	if w.checkpoint == 0 || t.full.Load() {
		t.mu.Lock()
		for t.full.Load() && t.err == nil {
			t.space.Wait()
		}
		if w.checkpoint == 0 {
			w.checkpoint = t.begin
		}
		err := t.err
		t.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if w.checkpoint == 0 {
			return nil, errNotBegun
		}
	}
	b := openBatch(w.hint[i])
	b.part, b.checkpoint, b.transactional = w.topic.partitions[i], w.checkpoint, w.transactional
	w.open[i] = b
	return b, nil
}

var errNotBegun = errors.New("written to before a checkpoint has begun")

// seal queues the open batch of a partition.
func (w *writer) seal(i int) error {
	b := w.open[i]
	w.close(i)
	return w.t.enqueue(b)
}

// close takes a batch out of the open ones; records without a key go on with the next partition.
func (w *writer) close(i int) {
	w.hint[i] = min(len(w.open[i].raw.b), w.topic.maxBatch)
	w.open[i] = nil
	if i == w.sticky {
		w.sticky = (i + 1) % len(w.open)
	}
}

// Flush queues all open batches.
func (w *writer) Flush() error { return w.flush(0) }

// flush queues the open batches that have records and at least so many bytes.
func (w *writer) flush(least int) error {
	w.sealed = w.sealed[:0]
	for i, b := range w.open {
		if b != nil && b.n > 0 && len(b.raw.b) >= least {
			w.close(i)
			w.sealed = append(w.sealed, b)
		}
	}
	if len(w.sealed) == 0 {
		if w.t.broken.Load() {
			return w.t.Err()
		}
		return nil
	}
	err := w.t.enqueue(w.sealed...)
	clear(w.sealed)
	return err
}

// Barrier queues all open batches; what follows belongs to the next checkpoint.
func (w *writer) Barrier(checkpoint int64) error {
	if w.checkpoint == 0 {
		w.t.mu.Lock()
		w.checkpoint = w.t.begin
		w.t.mu.Unlock()
	}
	if w.checkpoint != checkpoint {
		err := fmt.Errorf("topic %s: barrier %d while checkpoint %d is written", w.topic.name, checkpoint, w.checkpoint)
		w.t.fail(err)
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	w.checkpoint++
	w.eager = firstBytes
	// An empty batch that was opened for a record too large is of the old checkpoint.
	for _, b := range w.open {
		if b != nil {
			b.checkpoint = w.checkpoint
		}
	}
	return nil
}

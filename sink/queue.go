package sink

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// topic is a topic that is written to; it does not change.
type topic struct {
	name string
	id   [16]byte
	// maxMessage is max.message.bytes; maxBatch what batches are filled up to.
	maxMessage, maxBatch int
	// recompressed: brokers store batches with a compression of the topic's own (compression.type), so that what counts against
	// maxMessage is not what we send.
	recompressed bool
	partitions   []*partition
}

// partition is the queue of a partition: batches in the order in which they are to stand in the log. One at most is on its
// way, so the next is sent only when all before are acknowledged, whatever transaction they belong to. Its fields belong to
// the lock of the Transactions, but for pending.
type partition struct {
	topic *topic
	index int32
	// leader is -1 while it has to be asked for.
	leader     int32
	head, tail *batch
	// pending counts the batches in the queue, for a writer that wants to know without the lock.
	pending atomic.Int32
	// inflight: the head is on its way. offered: the partition stands in its leader's list. parked: it waits in the retrier's.
	inflight, offered, parked bool
	// retryAt is when a parked partition is tried again; backoff counts the tries of the head that came to nothing.
	retryAt time.Time
	backoff retryBackoff
	last    error // of the latest retry
	// sequence is the next of each slot's producer, of the generation beside it.
	sequence   [Slots]int32
	generation [Slots]int
	// added is the checkpoint for which the partition was added to the slot's transaction.
	added [Slots]int64
}

// joins reports that the head is the first of its transaction in this partition.
func (p *partition) joins() bool {
	return p.head.transactional && p.added[slotOf(p.head.checkpoint)] != p.head.checkpoint
}

// next returns the sequence number for n records of a slot.
func (p *partition) next(slot int, s *slot, n int32) int32 {
	if p.generation[slot] != s.generation {
		p.generation[slot], p.sequence[slot] = s.generation, 0
	}
	seq := p.sequence[slot]
	if seq > math.MaxInt32-n {
		p.sequence[slot] = n - (math.MaxInt32 - seq) - 1 // wraps to 0 after the largest
	} else {
		p.sequence[slot] = seq + n
	}
	return seq
}

// inlineBytes is up to which size a batch is encoded by who queues it: handing it over would cost more.
const inlineBytes = 16 << 10

// enqueue puts batches at the end of their queues, all of one checkpoint, and sees to it that they are encoded. It does not
// wait for a broker.
func (t *KafkaTransactions) enqueue(batches ...*batch) error {
	t.mu.Lock()
	for i, b := range batches {
		err := t.err
		if err == nil {
			err = t.admit(b)
		}
		if err != nil {
			t.mu.Unlock()
			for _, b := range batches[i:] {
				b.free()
			}
			t.fail(err)
			return t.Err()
		}
		if b.size > inlineBytes {
			t.toEncode = append(t.toEncode, b)
			t.encode.Signal()
		}
	}
	t.mu.Unlock()
	inline := false
	for _, b := range batches {
		if b.size <= inlineBytes {
			b.encode(t.codec)
			inline = true
		}
	}
	if !inline {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range batches {
		if b.size <= inlineBytes {
			t.ready(b)
		}
	}
	return nil
}

// admit counts a batch and gives it its place: in the queue, and among its producer's sequence numbers.
func (t *KafkaTransactions) admit(b *batch) error {
	s, err := t.slotFor(b.checkpoint)
	if err != nil {
		return err
	}
	p := b.part
	b.slot, b.size = s, len(b.raw.b)
	b.producer, b.epoch, b.sequence = -1, -1, -1
	if b.transactional {
		b.producer, b.epoch = s.producer, s.epoch
		b.sequence = p.next(slotOf(b.checkpoint), s, int32(b.n))
		if s.began.IsZero() {
			s.began = time.Now()
		}
	}
	if p.tail == nil {
		p.head = b
	} else {
		p.tail.next = b
	}
	p.tail = b
	p.pending.Add(1)
	s.pending++
	waiting := t.buffered.Add(int64(b.size))
	if waiting == int64(b.size) {
		t.pace.busy(time.Now())
	}
	t.full.Store(waiting >= t.pace.room)
	return nil
}

func slotOf(checkpoint int64) int { return int(checkpoint % Slots) }

// slotFor returns the slot of a checkpoint, which then belongs to it until its commit. A slot that is still in use means
// that more checkpoints are in flight than there are slots.
func (t *KafkaTransactions) slotFor(checkpoint int64) (*slot, error) {
	if checkpoint <= t.committed {
		return nil, fmt.Errorf("checkpoint %d: written to after checkpoint %d was committed", checkpoint, t.committed)
	}
	s := t.slots[slotOf(checkpoint)]
	switch {
	case !s.fenced:
		return nil, fmt.Errorf("transaction %s: used before it was fenced", s.name)
	case s.checkpoint == 0:
		s.checkpoint = checkpoint
	case s.checkpoint != checkpoint:
		return nil, fmt.Errorf("transaction %s: checkpoint %d wants it while checkpoint %d is not committed", s.name, checkpoint, s.checkpoint)
	}
	return s, nil
}

// ready notes that a batch is encoded.
func (t *KafkaTransactions) ready(b *batch) {
	b.encoded = true
	t.offer(b.part)
}

// offer puts a partition into its leader's list if its head can be sent.
func (t *KafkaTransactions) offer(p *partition) {
	if p.inflight || p.offered || p.parked || p.head == nil || !p.head.encoded || t.err != nil {
		return
	}
	if p.leader < 0 {
		t.park(p, nil, 0)
		return
	}
	b := t.brokers[p.leader]
	if b == nil {
		b = t.newBroker(p.leader)
	}
	p.offered = true
	b.ready = append(b.ready, p)
	b.wake.Signal()
}

// acknowledged takes the head of a partition off its queue.
func (t *KafkaTransactions) acknowledged(p *partition, offset int64) {
	b := p.head
	p.head, b.next = b.next, nil
	if p.head == nil {
		p.tail = nil
	}
	p.inflight, p.backoff, p.last = false, retryBackoff{}, nil
	if b.transactional {
		p.added[slotOf(b.checkpoint)] = b.checkpoint
	}
	p.pending.Add(-1)
	t.records.Add(int64(b.n))
	t.bytes.Add(int64(len(b.out.b)))
	t.batches.Add(1)
	waiting := t.buffered.Add(int64(-b.size))
	t.pace.done(b.size, waiting == 0, time.Now())
	t.room.Store(t.pace.room)
	full := waiting >= t.pace.room
	if t.full.Store(full); !full {
		t.space.Broadcast()
	}
	if s := b.slot; s.checkpoint == b.checkpoint {
		if s.pending--; s.pending == 0 && s.drained != nil {
			close(s.drained)
			s.drained = nil
		}
	}
	if b.done != nil {
		b.done(offset)
	}
	b.free()
	t.offer(p)
}

// runEncoder encodes batches until the end.
func (t *KafkaTransactions) runEncoder() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for len(t.toEncode) == 0 && t.err == nil {
			t.encode.Wait()
		}
		if t.err != nil {
			return
		}
		b := t.toEncode[0]
		t.toEncode[0] = nil
		t.toEncode = t.toEncode[1:]
		t.mu.Unlock()
		b.encode(t.codec)
		t.mu.Lock()
		t.ready(b)
	}
}

// broker is the list of partitions that a broker leads and whose head can be sent.
type broker struct {
	id   int32
	conn *kgo.Broker
	// second is another connection, nil if there is none.
	second atomic.Pointer[kgo.Broker]
	ready  []*partition
	wake   sync.Cond
	// joining: for each slot, a request is on its way that adds partitions to its transaction. The coordinator takes one such at a
	// time; a broker that adds them by itself (transaction.version 2) and comes second asks again after 20 ms, while the connection that
	// the request came on stands still. So there is one for each broker.
	joining [Slots]bool
	// waiting are the partitions that are not in a slot's transaction and whose heads wait for the end of that. They count as offered.
	waiting [Slots][]*partition
}

// joined lets those who wait for a request that added partitions go on.
func (t *KafkaTransactions) joined(b *broker, slot int) {
	waiting := b.waiting[slot]
	b.joining[slot], b.waiting[slot] = false, nil
	for _, p := range waiting {
		p.offered = false
		t.offer(p)
	}
}

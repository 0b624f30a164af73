package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// inflight is the number of requests on the way to one broker: one that it works on, and one that it finds next. They never
	// hold batches of the same partition.
	inflight = 2
	// requestBytes is up to which size further batches are put into a request.
	requestBytes = 8 << 20
	// largeRequest is from which size on a request is worth a connection of its own.
	largeRequest = 128 << 10
)

// newBroker begins to send to a broker. The lock is held.
func (t *KafkaTransactions) newBroker(id int32) *broker {
	b := &broker{id: id, conn: t.client.Broker(int(id))}
	b.wake.L = &t.mu
	t.brokers[id] = b
	for i := range inflight {
		s := &sender{t: t, to: b, second: i > 0}
		t.spawn(s.run)
	}
	return b
}

// sender has one produce request at a time on its way to a broker.
type sender struct {
	t  *KafkaTransactions
	to *broker
	// second: another sender sends to the same broker, over the connection that both use at first.
	second bool
	asked  bool // for a connection of its own
	// parts are the partitions whose heads are in the request, grouped by topic as in the request.
	parts []*partition
	// answered says which of parts the broker has answered.
	answered []bool
	req      kmsg.ProduceRequest
	size     int // of the batches in it, in bytes
	// joins: the request adds partitions to a slot's transaction.
	joins bool
}

func (s *sender) run(ctx context.Context) {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for len(s.to.ready) == 0 && t.err == nil {
			s.to.wake.Wait()
		}
		if t.err != nil {
			return
		}
		if !s.take() {
			continue
		}
		id := s.parts[0].head.slot.identity()
		deadline := s.deadline()
		t.mu.Unlock()
		resp, err := s.send(ctx, id, deadline)
		t.mu.Lock()
		if t.err != nil {
			return
		}
		joined := slotOf(s.parts[0].head.checkpoint)
		s.handle(resp, err)
		if s.joins {
			t.joined(s.to, joined)
		}
	}
}

// take collects heads of partitions that may travel in one request: of one transaction, or of none.
func (s *sender) take() bool {
	s.parts, s.size, s.joins = s.parts[:0], 0, false
	left := s.to.ready[:0]
	for _, p := range s.to.ready {
		slot := slotOf(p.head.checkpoint)
		switch {
		case p.leader != s.to.id:
			p.offered = false
			defer s.t.offer(p)
		case !s.fits(p.head):
			left = append(left, p)
		case p.joins() && !s.joins && s.to.joining[slot]:
			s.to.waiting[slot] = append(s.to.waiting[slot], p)
		default:
			if p.joins() {
				s.joins, s.to.joining[slot] = true, true
			}
			s.size += len(p.head.out.b)
			p.offered, p.inflight = false, true
			s.parts = append(s.parts, p)
		}
	}
	clear(s.to.ready[len(left):])
	s.to.ready = left
	if len(left) > 0 {
		s.to.wake.Signal()
	}
	return len(s.parts) > 0
}

// fits reports that a batch may travel with those that are in the request already.
func (s *sender) fits(b *batch) bool {
	if len(s.parts) == 0 {
		return true
	}
	first := s.parts[0].head
	return b.transactional == first.transactional && b.slot == first.slot && s.size+len(b.out.b) <= requestBytes
}

// deadline is when the first of the batches must have been acknowledged.
func (s *sender) deadline() time.Time {
	var first time.Time
	for _, p := range s.parts {
		b := p.head
		if b.deadline.IsZero() {
			b.deadline = time.Now().Add(s.t.config.RequestTimeout)
		}
		if first.IsZero() || b.deadline.Before(first) {
			first = b.deadline
		}
	}
	return first
}

// send builds the request and sends it once.
func (s *sender) send(ctx context.Context, id identity, deadline time.Time) (*kmsg.ProduceResponse, error) {
	t := s.t
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	transactional := s.parts[0].head.transactional
	if transactional && t.version < 2 {
		if err := t.addPartitions(ctx, id, s.parts); err != nil {
			return nil, err
		}
	}
	s.build(id, transactional)
	newest := int16(13)
	switch {
	case transactional && t.version < 2:
		newest = 11
	case !s.hasIDs():
		newest = 12
	}
	t.requests.Add(1)
	conn, own := s.connection()
	resp, err := conn.Request(ctx, pinnedProduce{&s.req, newest})
	if err != nil {
		if own {
			s.to.second.Store(nil) // the first one has always worked
		}
		return nil, err
	}
	return resp.(*kmsg.ProduceResponse), nil
}

// build fills the request anew, keeping its slices.
func (s *sender) build(id identity, transactional bool) {
	r := &s.req
	r.Default()
	r.TransactionID = nil
	if transactional {
		r.TransactionID = &id.name
	}
	r.Acks = -1
	r.TimeoutMillis = int32(min(s.t.config.RequestTimeout, 30*time.Second).Milliseconds())
	r.Topics = r.Topics[:0]
	for _, p := range s.parts {
		topic := s.topic(p.topic)
		n := len(topic.Partitions)
		if n < cap(topic.Partitions) {
			topic.Partitions = topic.Partitions[:n+1]
		} else {
			topic.Partitions = append(topic.Partitions, kmsg.NewProduceRequestTopicPartition())
		}
		topic.Partitions[n].Partition = p.index
		topic.Partitions[n].Records = p.head.out.b
	}
}

func (s *sender) topic(of *topic) *kmsg.ProduceRequestTopic {
	r := &s.req
	for i := range r.Topics {
		if r.Topics[i].TopicID == of.id && r.Topics[i].Topic == of.name {
			return &r.Topics[i]
		}
	}
	n := len(r.Topics)
	if n < cap(r.Topics) {
		r.Topics = r.Topics[:n+1]
	} else {
		r.Topics = append(r.Topics, kmsg.NewProduceRequestTopic())
	}
	r.Topics[n].Topic, r.Topics[n].TopicID = of.name, of.id
	r.Topics[n].Partitions = r.Topics[n].Partitions[:0]
	return &r.Topics[n]
}

func (s *sender) hasIDs() bool {
	for i := range s.req.Topics {
		if s.req.Topics[i].TopicID == ([16]byte{}) {
			return false
		}
	}
	return true
}

// handle settles every batch of the request. The lock is held.
func (s *sender) handle(resp *kmsg.ProduceResponse, err error) {
	if err != nil {
		for _, p := range s.parts {
			s.t.settle(p, -1, err)
		}
		return
	}
	s.answered = append(s.answered[:0], make([]bool, len(s.parts))...)
	for i := range resp.Topics {
		rt := &resp.Topics[i]
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			for k, p := range s.parts {
				if s.answered[k] || p.index != rp.Partition || (rt.Topic != p.topic.name && rt.TopicID != p.topic.id) {
					continue
				}
				s.answered[k] = true
				s.t.settle(p, rp.BaseOffset, answerOf(rp))
				break
			}
		}
	}
	for k, p := range s.parts {
		if !s.answered[k] {
			s.t.settle(p, -1, errors.New("the broker did not answer for this partition"))
		}
	}
}

func answerOf(p *kmsg.ProduceResponseTopicPartition) error {
	err := kerr.ErrorForCode(p.ErrorCode)
	if err == nil || p.ErrorMessage == nil || *p.ErrorMessage == "" || strings.Contains(err.Error(), *p.ErrorMessage) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, *p.ErrorMessage)
}

// settle decides what the answer for a partition's head means: acknowledged, to be tried again, or the end of the attempt.
func (t *KafkaTransactions) settle(p *partition, offset int64, err error) {
	if t.err != nil {
		return
	}
	b := p.head
	if err == nil || errors.Is(err, kerr.DuplicateSequenceNumber) {
		t.acknowledged(p, offset)
		return
	}
	p.inflight = false
	verdict := judge(err)
	if verdict != giveUp && time.Now().Before(b.deadline) {
		if verdict == askLeader {
			p.leader = -1
		}
		t.park(p, err, p.backoff.next())
		return
	}
	if verdict != giveUp {
		if errors.Is(err, context.DeadlineExceeded) && p.last != nil {
			err = p.last
		}
		err = fmt.Errorf("not acknowledged within %s: %w", t.config.RequestTimeout, err)
	}
	t.failLocked(t.writeError(p, err))
}

// writeError says where writing came to its end.
func (t *KafkaTransactions) writeError(p *partition, err error) error {
	b := p.head
	if b.transactional && isFenced(err) {
		return &FencedError{b.slot.name, err}
	}
	return fmt.Errorf("topic %s partition %d: %w", p.topic.name, p.index, err)
}

package sink

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/stream"
)

// PointerKey is the key of a pointer record: the checkpoint ID in decimal digits.
func PointerKey(checkpoint int64) []byte { return strconv.AppendInt(nil, checkpoint, 10) }

// WritePointer writes the pointer record of a checkpoint in the checkpoint's transaction and waits until it is
// acknowledged. A pointer that the topic does not take is a *TooLargeError; nothing has been written then.
func (t *KafkaTransactions) WritePointer(ctx context.Context, checkpoint int64, value []byte) (int64, error) {
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	if err := t.Err(); err != nil {
		return 0, err
	}
	topic, err := t.topic(ctx, t.config.CheckpointTopic)
	if err != nil {
		return 0, err
	}
	if int(t.config.Partition) >= len(topic.partitions) {
		return 0, fmt.Errorf("topic %s: it has %d partitions, and shard %d needs partition %d", topic.name, len(topic.partitions), t.config.Shard, t.config.Partition)
	}
	rec := stream.Record{Key: PointerKey(checkpoint), Value: value, Timestamp: t.config.Now()}
	p := topic.partitions[t.config.Partition]
	b := openBatch(headerSize + len(value) + 64)
	body, total := b.recordSize(&rec)
	if err := t.fits(p, b, &rec, body, total); err != nil {
		b.free()
		return 0, err
	}
	b.part, b.checkpoint, b.transactional = p, checkpoint, true
	if b.n == 0 {
		b.append(&rec, body, total, headerSize+total)
	}
	done := make(chan int64, 1)
	b.done = func(offset int64) { done <- offset }
	if err := t.enqueue(b); err != nil {
		return 0, err
	}
	select {
	case offset := <-done:
		return offset, t.pointerWritten(checkpoint, offset)
	case <-t.failed:
		return 0, t.Err()
	case <-ctx.Done():
		err := fmt.Errorf("transaction %s: the pointer is not acknowledged: %w", t.slots[slotOf(checkpoint)].name, ctx.Err())
		t.fail(err)
		return 0, err
	}
}

func (t *KafkaTransactions) pointerWritten(checkpoint, offset int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.slots[slotOf(checkpoint)]
	if offset < 0 {
		t.failLocked(fmt.Errorf("transaction %s: the broker has the pointer, but does not say at which offset", s.name))
		return t.err
	}
	s.pointer = offset
	return nil
}

// groupMark begins the metadata of the sources' offsets; the checkpoint ID follows. Those that people commit have none.
const groupMark = "weir:"

// CommitOffsets adds offsets of the job's group to the checkpoint's transaction, and that of the checkpoint partition
// itself: the offset after the pointer. All have the checkpoint ID in their metadata. A group that is ahead of the last
// pointer tells a later recovery that the checkpoint topic lost records; when the topic is deleted, the brokers delete its
// offset too, and those of the sources tell.
func (t *KafkaTransactions) CommitOffsets(ctx context.Context, checkpoint int64, offsets []Offset) error {
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	s, err := t.openSlot(checkpoint)
	if err != nil {
		return err
	}
	topic, err := t.topic(ctx, t.config.CheckpointTopic)
	if err != nil {
		return err
	}
	own := Offset{
		Topic: topic.name, TopicID: topic.id, Partition: t.config.Partition, Offset: s.pointer + 1, LeaderEpoch: -1,
		Metadata: strconv.FormatInt(checkpoint, 10),
	}
	marked := slices.Clone(offsets)
	for i := range marked {
		marked[i].Metadata = groupMark + own.Metadata
	}
	if err := t.commitOffsets(ctx, s, own, marked); err != nil {
		err = inTransaction(s.name, fmt.Errorf("offsets of group %s: %w", t.config.Group, err))
		t.fail(err)
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.offsets = true
	return nil
}

// openSlot returns the slot of a checkpoint whose pointer is written.
func (t *KafkaTransactions) openSlot(checkpoint int64) (*slot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	s := t.slots[slotOf(checkpoint)]
	if s.checkpoint != checkpoint || s.pointer < 0 {
		return nil, fmt.Errorf("transaction %s: checkpoint %d has no pointer yet", s.name, checkpoint)
	}
	return s, nil
}

func (t *KafkaTransactions) commitOffsets(ctx context.Context, s *slot, own Offset, offsets []Offset) error {
	id := s.identity()
	if t.version < 2 {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = id.name, id.producer, id.epoch, t.config.Group
		err := t.call(ctx, coordinatorKey{transactionCoordinator, id.name}, pinned{add, addOffsetsMax}, func(r kmsg.Response) error {
			return kerr.ErrorForCode(r.(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
		})
		if err != nil {
			return err
		}
	}
	// A group without members takes generation -1 and no member ID, which are the defaults.
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = id.name, id.producer, id.epoch, t.config.Group
	newest := t.pick(offsetCommitOld, offsetCommitID)
	at := map[string]int{}
	add := func(o Offset) {
		i, ok := at[o.Topic]
		if !ok {
			topic := kmsg.NewTxnOffsetCommitRequestTopic()
			topic.Topic, topic.TopicID = o.Topic, o.TopicID
			req.Topics = append(req.Topics, topic)
			i = len(req.Topics) - 1
			at[o.Topic] = i
		}
		if o.TopicID == ([16]byte{}) {
			newest = min(newest, offsetCommitName)
		}
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, o.LeaderEpoch, &o.Metadata
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	add(own)
	for _, o := range offsets {
		if o.Topic != own.Topic || o.Partition != own.Partition {
			add(o)
		}
	}
	return t.call(ctx, coordinatorKey{groupCoordinator, t.config.Group}, pinned{req, newest}, func(r kmsg.Response) error {
		for _, topic := range r.(*kmsg.TxnOffsetCommitResponse).Topics {
			for _, p := range topic.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					name := topic.Topic
					for n, i := range at {
						if name == "" && req.Topics[i].TopicID == topic.TopicID {
							name = n
						}
					}
					return fmt.Errorf("topic %s partition %d: %w", name, p.Partition, err)
				}
			}
		}
		return nil
	})
}

// Commit commits the checkpoint's transaction. The request is sent once: an error of it is an *UnknownOutcomeError, whatever
// the broker said, since it says some things also of a commit that it has already written down. An error before it was sent
// is not.
func (t *KafkaTransactions) Commit(ctx context.Context, checkpoint int64) error {
	s, err := t.openSlot(checkpoint)
	if err != nil {
		return err
	}
	if err := t.mayCommit(s, checkpoint); err != nil {
		t.fail(err)
		return err
	}
	if !s.offsets {
		if err := t.CommitOffsets(ctx, checkpoint, nil); err != nil {
			return err
		}
	}
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	key := coordinatorKey{transactionCoordinator, s.name}
	node, err := t.findCoordinator(ctx, key)
	if err != nil {
		err = inTransaction(s.name, err)
		t.fail(err)
		return err
	}
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = s.name, s.producer, s.epoch, true
	// Broker.Request writes a request once: it tries another connection only if not a byte has left.
	r, err := t.client.Broker(int(node)).Request(ctx, pinned{req, t.pick(endTxnOld, endTxnNew)})
	if err == nil {
		err = kerr.ErrorForCode(r.(*kmsg.EndTxnResponse).ErrorCode)
	}
	if err != nil {
		if isFenced(err) {
			err = &FencedError{s.name, err}
		}
		err = &UnknownOutcomeError{s.name, checkpoint, err}
		t.fail(err)
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if resp := r.(*kmsg.EndTxnResponse); t.version >= 2 && resp.ProducerID >= 0 && resp.ProducerEpoch >= 0 {
		s.renew(resp.ProducerID, resp.ProducerEpoch)
	}
	s.end()
	t.committed = checkpoint
	return nil
}

// mayCommit checks the order that the engine promises.
func (t *KafkaTransactions) mayCommit(s *slot, checkpoint int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case s.pending > 0:
		return fmt.Errorf("transaction %s: checkpoint %d has %d record batches that are not acknowledged", s.name, checkpoint, s.pending)
	case t.committed != 0 && checkpoint != t.committed+1:
		return fmt.Errorf("transaction %s: checkpoint %d cannot be committed after %d", s.name, checkpoint, t.committed)
	}
	return nil
}

// findCoordinator is coordinator with retries.
func (t *KafkaTransactions) findCoordinator(ctx context.Context, key coordinatorKey) (int32, error) {
	var backoff retryBackoff
	for {
		node, err := t.coordinator(ctx, key)
		if err == nil || !worthRepeating(err) || !pause(ctx, backoff.next()) {
			return node, err
		}
	}
}

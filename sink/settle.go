package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// A coordinator that ends a transaction while one of its partitions has no leader takes that partition for deleted: it writes
// no marker there, and reports the transaction as ended (Kafka 4.4.0, TransactionMarkerChannelManager). So it is when the
// only node of a cluster is killed and comes back. What stands in the partition stays undecided, and is decided by the next
// marker of the same producer, for whatever transaction that one is. Settle writes the marker that is missing.

// ending is how the last transaction of a slot ended, as its coordinator told before the fencing. One that was open then is not
// known: its owner may have committed it in between.
type ending struct {
	known    bool
	producer int64
	// epoch is the coordinator's. The records have the same, or the one before.
	epoch  int16
	commit bool
}

// describe asks the coordinator of a slot how its last transaction ended.
func (t *KafkaTransactions) describe(ctx context.Context, s *slot) (e ending, err error) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{s.name}
	err = t.call(ctx, coordinatorKey{transactionCoordinator, s.name}, req, func(r kmsg.Response) error {
		for _, st := range r.(*kmsg.DescribeTransactionsResponse).TransactionStates {
			err := kerr.ErrorForCode(st.ErrorCode)
			if errors.Is(err, kerr.TransactionalIDNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			e = ending{producer: st.ProducerID, epoch: st.ProducerEpoch}
			switch st.State {
			case "PrepareCommit", "CompleteCommit":
				e.known, e.commit = true, true
			case "PrepareAbort", "CompleteAbort", "PrepareEpochFence":
				e.known = true
			}
		}
		return nil
	})
	return e, err
}

// undecided is a transaction of a slot that has no marker on a partition.
type undecided struct {
	slot      int
	topic     string
	partition int32
	epoch     int16
	start     int64
	// coordinator is the epoch of the coordinator that wrote the producer's last marker there, -1 for none.
	coordinator int32
}

// Settle ends what transactions of the job's own slots have left undecided on the partitions of the topics given and on the
// checkpoint partition. It comes after Fence, when no transaction of theirs is open, and before anything is read or written.
// Nothing is guessed: what cannot be told is an error.
func (t *KafkaTransactions) Settle(ctx context.Context, log *PointerLog, topics []string) error {
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	all := append([]string{t.config.CheckpointTopic}, topics...)
	t.lookUp(all)
	var group bool
	var groupErr error
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		group, groupErr = t.groupUndecided(ctx, log)
	}()
	left, err := t.undecided(ctx, all)
	if <-asked; err != nil {
		return fmt.Errorf("looking for undecided transactions: %w", err)
	}
	if groupErr != nil {
		return groupErr
	}
	if len(left) == 0 && !group {
		return nil
	}
	// The checkpoint partition comes first: if the process dies on the way, its marker tells the next one what the others lack.
	slices.SortStableFunc(left, func(a, b undecided) int {
		return cmp.Compare(btoi(a.topic != t.config.CheckpointTopic), btoi(b.topic != t.config.CheckpointTopic))
	})
	var aborts [Slots][]undecided
	for _, u := range left {
		commit, err := t.outcome(ctx, log, u, group)
		if err != nil {
			return fmt.Errorf("topic %s partition %d: %w", u.topic, u.partition, err)
		}
		t.config.Logger.Warn("a transaction was ended without its marker: writing it", "transaction", t.slots[u.slot].name,
			"topic", u.topic, "partition", u.partition, "offset", u.start, "commit", commit)
		if !commit {
			aborts[u.slot] = append(aborts[u.slot], u)
			continue
		}
		if err := t.writeCommit(ctx, u); err != nil {
			return inTransaction(t.slots[u.slot].name, fmt.Errorf("topic %s partition %d: writing the marker that is missing: %w", u.topic, u.partition, err))
		}
	}
	for i, s := range t.slots {
		// If the process dies before the end of such a transaction, it is aborted. That is the end it is to have; and a group that is
		// one checkpoint behind is set right by the next.
		ends := []struct {
			commit, group bool
			parts         []undecided
		}{{group: group && s.before.known && !s.before.commit, parts: aborts[i]}, {commit: true, group: group && s.before.known && s.before.commit}}
		for _, end := range ends {
			if len(end.parts) == 0 && !end.group {
				continue
			}
			if err := t.endAgain(ctx, s, end.commit, end.parts, end.group); err != nil {
				return inTransaction(s.name, fmt.Errorf("writing the marker that is missing: %w", err))
			}
		}
	}
	return t.waitDecided(ctx, all)
}

// lookUp asks beforehand about topics that will be written to. What goes wrong is found when they are.
func (t *KafkaTransactions) lookUp(names []string) {
	t.spawn(func(ctx context.Context) {
		ctx, cancel := t.bounded(ctx)
		defer cancel()
		for _, name := range names {
			if _, err := t.topic(ctx, name); err != nil {
				return
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writeCommit writes the marker of a commit as a coordinator does. It is one write, so that no crash can turn it into an abort,
// as it could turn a transaction that is only begun for its marker. It needs ClusterAction on the cluster.
func (t *KafkaTransactions) writeCommit(ctx context.Context, u undecided) error {
	s := t.slots[u.slot]
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	// The slot's own epoch is newer than that of what was written, as a marker's has to be.
	m.ProducerID, m.ProducerEpoch, m.Committed = s.producer, s.epoch, true
	m.CoordinatorEpoch = max(u.coordinator, 0)
	m.TransactionVersion = int8(t.version)
	topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	topic.Topic, topic.Partitions = u.topic, []int32{u.partition}
	m.Topics = append(m.Topics, topic)
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Markers = append(req.Markers, m)
	var backoff retryBackoff
	for {
		err := t.askMarker(ctx, req)
		if err == nil || !kafka.IsRetriable(err) || !pause(ctx, backoff.next()) {
			return err
		}
	}
}

func (t *KafkaTransactions) askMarker(ctx context.Context, req *kmsg.WriteTxnMarkersRequest) error {
	resp, err := req.RequestWith(ctx, t.client)
	if err != nil {
		return err
	}
	answered := false
	for _, m := range resp.Markers {
		for _, topic := range m.Topics {
			for _, p := range topic.Partitions {
				answered = true
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
			}
		}
	}
	if !answered {
		return errors.New("the broker did not answer for the partition")
	}
	return nil
}

// Unsettled looks for transactions of earlier uses of the slots that have no marker: one whose marker is only on its way is
// not there any more the next time.
func (t *KafkaTransactions) Unsettled(ctx context.Context, topics []string) error {
	if t.version < 2 {
		return nil // an earlier use of a slot has the same epoch
	}
	left, err := t.undecided(ctx, append([]string{t.config.CheckpointTopic}, topics...))
	if err != nil {
		return nil
	}
	t.mu.Lock()
	left = slices.DeleteFunc(left, func(u undecided) bool { return u.epoch >= t.slots[u.slot].epoch })
	t.mu.Unlock()
	before := t.unmarked
	t.unmarked = left
	for _, u := range left {
		if slices.Contains(before, u) {
			return fmt.Errorf("topic %s partition %d: a transaction of %s that began at offset %d was ended without its marker", u.topic, u.partition, t.slots[u.slot].name, u.start)
		}
	}
	return nil
}

func (t *KafkaTransactions) waitDecided(ctx context.Context, topics []string) error {
	var backoff retryBackoff
	for {
		left, err := t.undecided(ctx, topics)
		if err == nil && len(left) == 0 {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("topic %s partition %d: transaction %s is undecided", left[0].topic, left[0].partition, t.slots[left[0].slot].name)
		}
		if !pause(ctx, backoff.next()) {
			return err
		}
	}
}

// undecided asks the leaders of all partitions for transactions of the job's slots. A topic whose producers the job is not
// allowed to see (it needs Read) is left out.
func (t *KafkaTransactions) undecided(ctx context.Context, topics []string) ([]undecided, error) {
	found, err := t.cluster.Topics(ctx, topics...)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, topic := range found {
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Topic = topic.Name
		for _, p := range topic.Partitions {
			rt.Partitions = append(rt.Partitions, p.Index)
		}
		req.Topics = append(req.Topics, rt)
	}
	var backoff retryBackoff
	for {
		left, err := t.askProducers(ctx, req)
		if err == nil || !kafka.IsRetriable(err) || !pause(ctx, backoff.next()) {
			return left, err
		}
	}
}

func (t *KafkaTransactions) askProducers(ctx context.Context, req *kmsg.DescribeProducersRequest) ([]undecided, error) {
	resp, err := req.RequestWith(ctx, t.client)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var left []undecided
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			if errors.Is(err, kerr.TopicAuthorizationFailed) {
				t.config.Logger.Debug("not allowed to see who writes", "topic", topic.Topic)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("topic %s partition %d: %w", topic.Topic, p.Partition, err)
			}
			for _, a := range p.ActiveProducers {
				i := slices.IndexFunc(t.slots[:], func(s *slot) bool { return s.producer == a.ProducerID })
				if i >= 0 && a.CurrentTxnStartOffset >= 0 {
					left = append(left, undecided{i, topic.Topic, p.Partition, int16(a.ProducerEpoch), a.CurrentTxnStartOffset, a.CoordinatorEpoch})
				}
			}
		}
	}
	return left, nil
}

// groupUndecided reports whether offsets of the group wait for a marker that does not come. After the fencing nothing of the
// job is open, so markers that are on their way arrive soon.
func (t *KafkaTransactions) groupUndecided(ctx context.Context, log *PointerLog) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, t.config.RequestTimeout/4)
	defer cancel()
	var backoff kafka.Backoff
	for {
		_, _, _, err := log.groupOffset(ctx)
		unstable := errors.Is(err, kerr.UnstableOffsetCommit)
		if !unstable && (err == nil || !kafka.IsRetriable(err)) {
			return false, nil // what else is wrong is found when the offset is needed
		}
		if !backoff.Wait(ctx) {
			return unstable || errors.Is(err, context.DeadlineExceeded), nil
		}
	}
}

// outcome says whether a transaction was committed; group is that the group's offsets do not tell.
func (t *KafkaTransactions) outcome(ctx context.Context, log *PointerLog, u undecided, group bool) (commit bool, err error) {
	s := t.slots[u.slot]
	if commit, known := s.before.tells(t.version, s.producer, u.epoch); known {
		return commit, nil
	}
	if t.version < 2 { // an epoch is that of many transactions
		return false, undecidedError(s, u)
	}
	ctx, cancel := context.WithTimeout(ctx, t.config.RequestTimeout)
	defer cancel()
	found, err := log.ofProducer(ctx, s.producer, u.epoch)
	if err != nil {
		return false, err
	}
	at := int64(-1)
	if found.pointer && !found.marked && !group {
		if at, err = log.GroupCheckpoint(ctx); err != nil {
			return false, err
		}
	}
	commit, known := found.tells(at)
	if !known {
		return false, undecidedError(s, u)
	}
	return commit, nil
}

// tells says whether the transaction that left records of an epoch undecided was committed, as far as the coordinator has
// told.
func (e ending) tells(version int, producer int64, epoch int16) (commit, known bool) {
	switch {
	case !e.known || e.producer != producer:
		return false, false
	case version >= 2:
		// Each transaction has an epoch, and its end takes the next.
		return e.commit, epoch == e.epoch-1
	}
	// An epoch is that of all transactions of an attempt. If its last was committed, all before it were too.
	return true, e.commit && epoch == e.epoch
}

// tells says the same, as far as the checkpoint partition and the group's offsets tell; group is the checkpoint that the group
// is at, negative if that is not known.
func (tr trace) tells(group int64) (commit, known bool) {
	switch {
	case tr.marked:
		return tr.commit, true
	case !tr.pointer:
		return false, tr.complete // the commit was never asked for: the pointer comes before it
	case group < 0:
		return false, false
	}
	// The offsets are in every transaction whose commit was asked for, and IDs are dense. A group that is elsewhere has lost
	// offsets, and tells nothing.
	return group >= tr.checkpoint, group >= tr.checkpoint-1
}

func undecidedError(s *slot, u undecided) error {
	return fmt.Errorf("a transaction of %s (producer %d epoch %d) that began at offset %d has no marker there, and nothing tells whether it was committed: see kafka-transactions.sh find-hanging",
		s.name, s.producer, u.epoch, u.start)
}

// endAgain ends an empty transaction of the slot on the partitions given: its markers end what stands there.
func (t *KafkaTransactions) endAgain(ctx context.Context, s *slot, commit bool, parts []undecided, group bool) error {
	id := s.identity()
	key := coordinatorKey{transactionCoordinator, id.name}
	if len(parts) > 0 {
		add := kmsg.NewPtrAddPartitionsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch = id.name, id.producer, id.epoch
		for _, u := range parts {
			topic := kmsg.NewAddPartitionsToTxnRequestTopic()
			topic.Topic, topic.Partitions = u.topic, []int32{u.partition}
			add.Topics = append(add.Topics, topic)
		}
		add.Topics = mergeTopics(add.Topics)
		err := t.call(ctx, key, pinned{add, addPartitionsMax}, func(r kmsg.Response) error {
			for _, topic := range r.(*kmsg.AddPartitionsToTxnResponse).Topics {
				for _, p := range topic.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						return fmt.Errorf("topic %s partition %d: %w", topic.Topic, p.Partition, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if group {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = id.name, id.producer, id.epoch, t.config.Group
		err := t.call(ctx, key, pinned{add, addOffsetsMax}, func(r kmsg.Response) error {
			return kerr.ErrorForCode(r.(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
		})
		if err != nil {
			return err
		}
	}
	node, err := t.findCoordinator(ctx, key)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = id.name, id.producer, id.epoch, commit
	// Sent once: if the answer is lost, the next recovery looks again.
	r, err := t.client.Broker(int(node)).Request(ctx, pinned{req, t.pick(endTxnOld, endTxnNew)})
	if err == nil {
		err = kerr.ErrorForCode(r.(*kmsg.EndTxnResponse).ErrorCode)
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if resp := r.(*kmsg.EndTxnResponse); t.version >= 2 && resp.ProducerID >= 0 && resp.ProducerEpoch >= 0 {
		s.renew(resp.ProducerID, resp.ProducerEpoch)
	}
	return nil
}

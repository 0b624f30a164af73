package runtime

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

// preflight refuses a start that cannot succeed before it fences anybody: a job that runs is not disturbed by a typing
// error. What it reads may be out of date a moment later, so resolve looks again.
func (a *attempt) preflight(ctx context.Context) error {
	logged, err := a.listed1()
	if err != nil {
		return err
	}
	var found last
	if len(logged) > 0 {
		if found, err = a.completed(ctx, &logged[0]); err != nil {
			return err
		}
	}
	if found.pointer != nil && found.damage == nil {
		a.readAhead(found.pointer)
	}
	a.taken = checkpointOf(found.pointer)
	// The group's offset is of another moment than the pointer, so it is not compared here.
	res, err := a.decide(ctx, found, 0, a.topics)
	if err != nil {
		return err
	}
	if a.ahead != nil && (res.Kind != checkpoint.ResolvedContinue || !reflect.DeepEqual(a.ahead.of, res.Pointer)) {
		a.ahead.drop()
		a.ahead = nil
	}
	if p := res.Pointer; p != nil && len(p.AllFiles()) > 0 && (res.Kind != checkpoint.ResolvedSavepoint || a.savepointFiles == a.files) && a.elsewhere(ctx) {
		return a.wrongStorage(p.Checkpoint)
	}
	if res.Kind == checkpoint.ResolvedSavepoint {
		if err := a.wholeToBegin(ctx, res.Pointer); err != nil {
			return err
		}
	}
	if res.Kind == checkpoint.ResolvedEnded {
		return nil // nothing is read
	}
	if found.pointer == nil {
		a.readAhead(nil)
		a.ahead.allow()
		return nil // nobody runs who could be disturbed
	}
	for _, n := range a.graph.Nodes {
		if n.Source == nil {
			continue
		}
		// Where reading begins is found out anew after the fencing.
		if _, _, err := a.resolveSource(ctx, n, res.Pointer); err != nil {
			return err
		}
	}
	a.ahead.allow()
	return nil
}

// topicsThere refuses a first start whose topics do not exist. Without a checkpoint topic, everything else that can be known
// is looked at as well: a start that is refused leaves nothing behind.
func (a *attempt) topicsThere(ctx context.Context, find func() (bool, error)) error {
	if err := insist(ctx, func() (err error) { a.topics, err = a.findTopics(ctx); return err }); err != nil {
		return err
	}
	for _, n := range a.graph.Nodes {
		if n.Source == nil || n.Source.Kafka == nil {
			continue
		}
		client, err := a.foreignClient(ctx, n)
		if err != nil {
			return err
		}
		err = insist(ctx, func() error {
			_, err := kafka.NewCluster(client).Topics(ctx, n.Source.Spec.Kafka.Topics...)
			return err
		})
		if err != nil {
			return locate("source", n.Name, err)
		}
	}
	if there, err := find(); there || err != nil {
		return nil // preflight follows; what is wrong with the topic is said where it is used
	}
	res, err := a.decide(ctx, last{}, 0, a.topics)
	if err != nil || res.Kind != checkpoint.ResolvedSavepoint {
		return err
	}
	return a.wholeToBegin(ctx, res.Pointer)
}

// insist repeats a question about topics: a broker that has just started, or has just been told of a topic, may not know it
// for a moment.
func insist(ctx context.Context, ask func() error) (err error) {
	var backoff kafka.Backoff
	for range 6 { // 0.3 s
		if err = ask(); !errors.Is(err, kafka.ErrNoTopic) || !backoff.Wait(ctx) {
			break
		}
	}
	return err
}

// resolve reads what there is and decides what to begin with.
func (a *attempt) resolve(ctx context.Context) (*checkpoint.Resolution, error) {
	topics := ask(a.aside, a.findTopics)
	// The group comes first: read after the pointer, it may have a checkpoint that another process has committed in between, and
	// would seem to be ahead of a topic that has lost nothing.
	group, err := a.groupCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.lastPointer(ctx)
	if err != nil {
		return nil, err
	}
	a.cfg.Fault.At(fault.PointerRead)
	a.taken, a.readUpTo = checkpointOf(found.pointer), 0
	if found.pointer != nil {
		a.readUpTo = found.offset + 1
	}
	if a.topics, err = topics(); err != nil {
		return nil, err
	}
	res, err := a.decide(ctx, found, group, a.topics)
	if err != nil {
		return nil, a.groupAhead(group, err)
	}
	if found.damage != nil {
		a.logger.Warn("the last checkpoint is damaged: savepoints that were under way are not finished", "error", found.damage)
	}
	a.lastOffset, a.before = found.offset, found.pointer
	a.restored = checkpointOf(res.Pointer)
	a.kind = res.Kind
	a.job.recovered.Store(&recovered{attempt: a.id, began: checkpointOf(found.pointer)})
	a.last = a.firstPointer(res, found.pointer, a.topics.written)
	return res, nil
}

// last is the last committed pointer, nil if there is none, and its offset. If it is damaged, it is its head only.
type last struct {
	pointer *checkpoint.Pointer
	offset  int64
	damage  error
}

// decide says what the start does, given the last pointer and the topics as they are. Its error is the refusal.
func (a *attempt) decide(ctx context.Context, last last, group int64, topics foundTopics) (*checkpoint.Resolution, error) {
	s, err := a.observe(ctx, last, topics)
	if err != nil {
		return nil, err
	}
	s.Group = group
	res := checkpoint.Resolve(s)
	return &res, res.Err
}

// observe gathers what the decision is made of, all but the group's checkpoint.
func (a *attempt) observe(ctx context.Context, last last, topics foundTopics) (s checkpoint.Start, err error) {
	s = checkpoint.Start{
		Last: last.pointer, LastOffset: last.offset, Damage: last.damage, Now: a.now(),
		GroupID: a.cfg.Checkpoint.GroupID(a.cfg.Job), Topic: a.log.Topic(), NewLineage: uuid.NewString(),
	}
	if s.Request, s.Savepoint, err = a.request(ctx, last.pointer); err != nil {
		return s, err
	}
	s.Job, err = a.description(ctx, topics)
	return s, err
}

func checkpointOf(p *checkpoint.Pointer) int64 {
	if p == nil {
		return 0
	}
	return p.Checkpoint
}

// lastPointer returns the last committed pointer.
func (a *attempt) lastPointer(ctx context.Context) (last, error) {
	logged, err := a.log.Last(ctx)
	if err != nil || logged == nil {
		return last{}, err
	}
	return a.completed(ctx, logged)
}

// completed loads the last pointer. That it is damaged is not an error yet: something else may be begun from.
func (a *attempt) completed(ctx context.Context, logged *sink.LoggedPointer) (last, error) {
	p, err := a.load(ctx, logged)
	if p == nil {
		return last{}, err
	}
	return last{p, logged.Offset, err}, nil
}

// groupCheckpoint is the latest checkpoint that the metadata of the group's offsets names (rule 11).
func (a *attempt) groupCheckpoint(ctx context.Context) (int64, error) {
	return a.log.GroupCheckpoint(ctx)
}

// outputTopics are the names of all topics that the job writes, once each.
func (a *attempt) outputTopics() []string {
	var names []string
	for _, n := range a.graph.Nodes {
		if n.Sink != nil {
			names = append(names, n.Sink.Spec.Kafka.Topic, n.Sink.BadRecord.Topic)
		}
		if n.Source != nil {
			names = append(names, n.Source.BadRecord.Topic)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// foundTopics are the job's topics as the brokers know them.
type foundTopics struct {
	// written are those that the job writes.
	written []checkpoint.Topic
	// all has the others too that are on the sinks' cluster, by name.
	all map[string]kafka.Topic
}

// findTopics looks up, with one request, the topics that the job writes, and those that it reads on the same cluster. It reports
// all that are missing.
func (a *attempt) findTopics(ctx context.Context) (found foundTopics, err error) {
	var names []string
	for _, n := range a.graph.Nodes {
		if n.Source != nil && n.Source.Kafka == nil {
			names = append(names, n.Source.Spec.Kafka.Topics...)
		}
		step := func(topic string) {
			if topic != "" {
				found.written = append(found.written, checkpoint.Topic{Role: "sink", Step: n.Name, Name: topic})
			}
		}
		switch {
		case n.Sink != nil:
			step(n.Sink.Spec.Kafka.Topic)
			step(n.Sink.BadRecord.Topic)
		case n.Source != nil:
			step(n.Source.BadRecord.Topic)
		}
	}
	read := len(names)
	for _, t := range found.written {
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return found, nil
	}
	unique := slices.Compact(slices.Sorted(slices.Values(names)))
	found.all, err = kafka.NewCluster(a.client).Existing(ctx, unique...)
	if err != nil {
		topic := (*kafka.TopicError)(nil)
		if i := slices.IndexFunc(found.written, func(t checkpoint.Topic) bool { return errors.As(err, &topic) && t.Name == topic.Topic }); i >= 0 && !slices.Contains(names[:read], topic.Topic) {
			err = locate("sink", found.written[i].Step, err)
		}
		return found, err
	}
	var missing []string
	for _, name := range names {
		if _, ok := found.all[name]; !ok && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	for i, t := range found.written {
		found.written[i].ID = found.all[t.Name].ID
	}
	switch len(missing) {
	case 0:
		return found, nil
	case 1:
		return found, &kafka.TopicError{Topic: missing[0], Err: kafka.ErrNoTopic}
	}
	return found, &kafka.NoTopicsError{Topics: missing}
}

// firstPointer is the pointer that the attempt begins with, as far as it is known before anything is restored.
func (a *attempt) firstPointer(res *checkpoint.Resolution, last *checkpoint.Pointer, topics []checkpoint.Topic) *checkpoint.Pointer {
	host, _ := os.Hostname()
	_, from, _ := a.cfg.Start.request() // it has been read before
	p := &checkpoint.Pointer{
		Job: a.cfg.Job, Shard: a.shard, Shards: 1, Checkpoint: res.Last + 1, Attempt: a.id,
		Lineage: res.Lineage, Host: host, Time: a.now(), Request: res.Request, First: true, KeyGroups: a.keyGroups,
		Topics: topics, Unfinished: res.Unfinished, From: res.From(last, from), Drops: res.Drops,
	}
	if res.Pointer != nil {
		p.Dropped = res.Pointer.Dropped
	}
	return p
}

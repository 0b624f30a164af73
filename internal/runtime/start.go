package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// errEnded ends a job that had reached the end of its input before it started.
var errEnded = errors.New("the job had reached the end of its input")

// newAttempt recovers: it fences every slot, reads the last committed pointer, restores, and commits the attempt's own
// first checkpoint. When it returns without an error, the attempt is ready to run.
func (j *Job) newAttempt(ctx context.Context) (a *attempt, err error) {
	cfg := &j.cfg
	a = &attempt{
		cfg: cfg, job: j, graph: cfg.Graph, now: cfg.Now, metrics: &j.metrics, id: uuid.NewString(),
		cleanings: make(chan cleaning, 1), savepointsDone: make(chan checkpoint.Savepoint, 16),
		keyGroups: cfg.Checkpoint.KeyGroups, sources: map[*Node]source.Source{}, foreign: map[string]*kgo.Client{},
	}
	a.logger = cfg.Logger.With("job", cfg.Job, "attempt", a.id[:8])
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	a.group, a.ctx = errgroup.WithContext(ctx)
	if err := a.connect(ctx); err != nil {
		return a, err
	}
	if !j.ran.Load() {
		if err := a.preflight(ctx); err != nil {
			return a, err
		}
	}
	if err := a.tx.Fence(ctx); err != nil {
		return a, err
	}
	res, err := a.resolve(ctx)
	if err != nil {
		return a, err
	}
	if res.Note != "" {
		a.logger.Info(res.Note)
	}
	if res.Kind == checkpoint.ResolvedEnded {
		for _, s := range res.Unfinished { // rule 13: whatever else there is to do
			if _, err := a.copySavepoint(ctx, s); err != nil {
				return a, fmt.Errorf("savepoint %s: %w", s.Directory, err)
			}
		}
		return a, errEnded
	}
	if err := a.restore(ctx, res); err != nil {
		return a, err
	}
	a.tx.Begin(a.last.Checkpoint + 1)
	if res.Pointer != nil {
		a.watermarks = map[string]int64{}
		for _, o := range res.Pointer.Operators {
			a.watermarks[o.Name] = o.Watermark
		}
	}
	if err := a.build(); err != nil {
		return a, err
	}
	if err := a.checkStates(res); err != nil {
		return a, err
	}
	return a, a.first(ctx, res)
}

// connect reaches the cluster and checks what can be checked there.
func (a *attempt) connect(ctx context.Context) error {
	cfg := a.cfg
	store, err := checkpoint.OpenStore(ctx, cfg.Checkpoint.Storage)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, func() { _ = store.Close() })
	a.files = checkpoint.NewFiles(store, cfg.Listener)
	if a.client, err = kafka.Dial(ctx, cfg.Kafka); err != nil {
		return err
	}
	a.closers = append(a.closers, a.client.Close)
	cluster := kafka.NewCluster(a.client)
	longest, err := cluster.MaxTransactionTimeout(ctx)
	if err != nil {
		return err
	}
	if err := cfg.Checkpoint.CheckTimeouts(longest); err != nil {
		return &OptionError{err}
	}
	topic := cfg.Checkpoint.Topic(cfg.Job)
	if a.log, err = sink.NewPointerLog(a.client, cfg.logConfig()); err != nil {
		return err
	}
	if err := a.log.Ensure(ctx); err != nil {
		return err
	}
	tx, err := sink.NewTransactions(ctx, sink.Config{
		Client: a.client, Job: cfg.Job, Shard: a.shard, Prefix: cfg.Checkpoint.Prefix, CheckpointTopic: topic,
		Partition: int32(a.shard), Group: cfg.Checkpoint.GroupID(cfg.Job), Mode: string(cfg.Checkpoint.Mode),
		TransactionTimeout: cfg.Checkpoint.TransactionTimeout, Logger: a.logger,
		Compression: cfg.Producer.Compression, MaxBuffered: cfg.Producer.MaxBuffered, MaxBatchBytes: cfg.Producer.MaxBatchBytes,
		RequestTimeout: cfg.Producer.RequestTimeout,
	})
	if err != nil {
		return err
	}
	a.tx = tx
	a.closers = append(a.closers, tx.Close)
	return nil
}

// preflight refuses a start that cannot succeed before it fences anybody: a job that runs is not disturbed by a typing
// error. What it reads may be out of date a moment later, so resolve looks again.
func (a *attempt) preflight(ctx context.Context) error {
	logged, err := a.log.List(ctx, 1)
	if err != nil {
		return err
	}
	var last *checkpoint.Pointer
	if len(logged) > 0 {
		if last, err = checkpoint.LoadPointer(ctx, a.files, logged[0].Value); err != nil {
			return err
		}
	}
	// The group's offset is of another moment than the pointer, so it is not compared here.
	_, _, err = a.decide(ctx, last, 0, 0)
	return err
}

// resolve reads what there is and decides what to begin with.
func (a *attempt) resolve(ctx context.Context) (*checkpoint.Resolution, error) {
	last, offset, err := a.lastPointer(ctx)
	if err != nil {
		return nil, err
	}
	group, err := a.groupCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	res, topics, err := a.decide(ctx, last, offset, group)
	if err != nil {
		return nil, err
	}
	a.lastOffset = offset
	a.restored = checkpointOf(res.Pointer)
	a.kind = res.Kind
	a.job.recovered.Store(&recovered{attempt: a.id, began: checkpointOf(last)})
	a.last = a.firstPointer(res, topics)
	return res, nil
}

// decide says what the start does, given the last pointer. Its error is the refusal.
func (a *attempt) decide(ctx context.Context, last *checkpoint.Pointer, offset, group int64) (*checkpoint.Resolution, []checkpoint.Topic, error) {
	topics, err := a.sinkTopics(ctx)
	if err != nil {
		return nil, nil, err
	}
	request, savepoint, err := a.request(ctx, last)
	if err != nil {
		return nil, nil, err
	}
	s := checkpoint.Start{
		Job: checkpoint.Description{
			Name: a.cfg.Job, Shard: a.shard, Shards: 1, KeyGroups: a.keyGroups, Operators: a.describe(nil), Topics: topics,
		},
		Request: request, Last: last, LastOffset: offset, Savepoint: savepoint, Group: group, GroupID: a.cfg.Checkpoint.GroupID(a.cfg.Job),
		Topic: a.log.Topic(), NewLineage: uuid.NewString(),
	}
	for i := range s.Job.Operators {
		s.Job.Operators[i].States = nil // not declared yet: see checkStates
	}
	for _, n := range a.graph.Nodes {
		if n.Source == nil {
			continue
		}
		s.Job.Sources = append(s.Job.Sources, n.Name)
		for _, t := range n.Source.Spec.Kafka.Topics {
			s.Job.Topics = append(s.Job.Topics, checkpoint.Topic{Role: "source", Step: n.Name, Name: t})
		}
	}
	res := checkpoint.Resolve(s)
	return &res, topics, res.Err
}

func checkpointOf(p *checkpoint.Pointer) int64 {
	if p == nil {
		return 0
	}
	return p.Checkpoint
}

// lastPointer returns the last committed pointer, complete, and its offset; nil if there is none.
func (a *attempt) lastPointer(ctx context.Context) (*checkpoint.Pointer, int64, error) {
	logged, err := a.log.Last(ctx)
	if err != nil || logged == nil {
		return nil, 0, err
	}
	p, err := checkpoint.LoadPointer(ctx, a.files, logged.Value)
	if err != nil {
		return nil, 0, fmt.Errorf("topic %s partition %d offset %d: %w", a.log.Topic(), a.shard, logged.Offset, err)
	}
	return p, logged.Offset, nil
}

// groupCheckpoint is the checkpoint ID that the group's offset for the checkpoint partition has as metadata (rule 11).
func (a *attempt) groupCheckpoint(ctx context.Context) (int64, error) {
	_, metadata, ok, err := a.log.GroupOffset(ctx)
	if err != nil || !ok {
		return 0, err
	}
	id, err := strconv.ParseInt(metadata, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("group %s: offset of topic %s: metadata %q is not a checkpoint ID", a.cfg.Checkpoint.GroupID(a.cfg.Job), a.log.Topic(), metadata)
	}
	return id, nil
}

// sinkTopics looks up the topics that the job writes, and reports all that are missing, those that it reads included.
func (a *attempt) sinkTopics(ctx context.Context) ([]checkpoint.Topic, error) {
	var topics []checkpoint.Topic
	var read []string
	for _, n := range a.graph.Nodes {
		switch {
		case n.Sink != nil:
			topics = append(topics, checkpoint.Topic{Role: "sink", Step: n.Name, Name: n.Sink.Spec.Kafka.Topic})
			if t := n.Sink.BadRecord.Topic; t != "" {
				topics = append(topics, checkpoint.Topic{Role: "sink", Step: n.Name, Name: t})
			}
		case n.Source != nil:
			if t := n.Source.BadRecord.Topic; t != "" {
				topics = append(topics, checkpoint.Topic{Role: "sink", Step: n.Name, Name: t})
			}
			if n.Source.Kafka == nil {
				read = append(read, n.Source.Spec.Kafka.Topics...)
			}
		}
	}
	cluster := kafka.NewCluster(a.client)
	var missing []string
	lookup := func(name string) (id [16]byte, err error) {
		found, err := cluster.Topics(ctx, name)
		if errors.Is(err, kafka.ErrNoTopic) {
			if !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
			return id, nil
		}
		if err != nil {
			return id, err
		}
		return found[0].ID, nil
	}
	for _, name := range read {
		if _, err := lookup(name); err != nil {
			return nil, err
		}
	}
	for i, t := range topics {
		id, err := lookup(t.Name)
		if err != nil {
			return nil, locate("sink", t.Step, err)
		}
		topics[i].ID = id
	}
	switch len(missing) {
	case 0:
		return topics, nil
	case 1:
		return nil, &kafka.TopicError{Topic: missing[0], Err: kafka.ErrNoTopic}
	}
	return nil, fmt.Errorf("topics %s: %w", strings.Join(missing, ", "), kafka.ErrNoTopic)
}

// firstPointer is the pointer that the attempt begins with, as far as it is known before anything is restored.
func (a *attempt) firstPointer(res *checkpoint.Resolution, topics []checkpoint.Topic) *checkpoint.Pointer {
	host, _ := os.Hostname()
	p := &checkpoint.Pointer{
		Job: a.cfg.Job, Shard: a.shard, Shards: 1, Checkpoint: res.Last + 1, Attempt: a.id,
		Lineage: res.Lineage, Host: host, Time: a.now(), Request: res.Request, First: true, KeyGroups: a.keyGroups,
		Topics: topics, Unfinished: res.Unfinished, From: a.from(res),
	}
	return p
}

// restore opens the sources and the state at the pointer that was decided on.
func (a *attempt) restore(ctx context.Context, res *checkpoint.Resolution) error {
	for _, n := range a.graph.Nodes {
		if n.Source == nil {
			continue
		}
		if err := a.openSource(ctx, n, res.Pointer); err != nil {
			return err
		}
	}
	return a.openState(ctx, res)
}

func (a *attempt) openSource(ctx context.Context, n *Node, from *checkpoint.Pointer) error {
	cluster := a.cfg.Kafka
	if n.Source.Kafka != nil {
		cluster = *n.Source.Kafka
		client, err := kafka.Dial(ctx, cluster)
		if err != nil {
			return locate("source", n.Name, err)
		}
		a.closers = append(a.closers, client.Close)
		a.foreign[n.Name] = client
	}
	src, err := n.Source.Spec.Open(ctx, source.Env{
		Dial: func(ctx context.Context, extra ...kgo.Opt) (*kgo.Client, error) {
			return kafka.Dial(ctx, cluster, extra...)
		},
		Name: n.Name, Group: a.cfg.Checkpoint.GroupID(a.cfg.Job), Now: a.now, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, src.Close)
	a.sources[n] = src
	var restored []checkpoint.Split
	if from != nil {
		for _, s := range from.Sources {
			if s.Name == n.Name {
				restored = append([]checkpoint.Split{}, s.Splits...)
			}
		}
	}
	splits, err := src.Resolve(ctx, restored)
	if err != nil {
		return err
	}
	sortSplits(splits)
	a.last.Sources = append(a.last.Sources, checkpoint.Source{Name: n.Name, Splits: splits})
	a.last.Topics = append(a.last.Topics, src.Topics()...)
	return nil
}

func sortSplits(splits []checkpoint.Split) {
	slices.SortFunc(splits, func(a, b checkpoint.Split) int {
		if a.Topic != b.Topic {
			if a.Topic < b.Topic {
				return -1
			}
			return 1
		}
		return int(a.Partition) - int(b.Partition)
	})
}

// checkStates compares the restored states with those that the operators declared when they were opened.
func (a *attempt) checkStates(res *checkpoint.Resolution) error {
	if res.Pointer == nil || a.backend == nil {
		return nil
	}
	now := a.describe(nil)
	declared := map[string]bool{}
	for _, s := range a.backend.Unclaimed() {
		declared[s.Operator+"\x00"+s.Name] = true
	}
	for i := range now {
		now[i].States = slices.DeleteFunc(now[i].States, func(s checkpoint.State) bool { return declared[now[i].Name+"\x00"+s.Name] })
		if now[i].States == nil {
			now[i].States = []checkpoint.State{}
		}
	}
	if findings := checkpoint.CheckStates(res.Pointer.Operators, now); len(findings) > 0 {
		return &checkpoint.RefusedError{What: fmt.Sprintf("checkpoint %d", res.Pointer.Checkpoint), Findings: findings}
	}
	return nil
}

// first commits the attempt's own first checkpoint (rule 10).
func (a *attempt) first(ctx context.Context, res *checkpoint.Resolution) error {
	listed, err := a.listGarbage(ctx)
	if err != nil {
		return err
	}
	if err := a.remember(ctx, res.Unfinished); err != nil {
		return err
	}
	a.last.Operators = a.describe(a.watermarks)
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Checkpoint.Timeout)
	defer cancel()
	if _, err := a.commit(ctx, a.last); err != nil {
		return fmt.Errorf("checkpoint %d: %w", a.last.Checkpoint, err)
	}
	a.job.recovered.Store(&recovered{attempt: a.id, began: res.Last, committed: true})
	a.listed = listed
	a.committed(a.last)
	a.coord = newCoordination(a)
	for _, s := range a.last.Unfinished {
		a.startSavepoint(s)
	}
	return nil
}

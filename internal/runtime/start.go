package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/kafka"
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
		laps: laps{last: time.Now()}, keyGroups: cfg.Checkpoint.KeyGroups, sources: map[*Node]source.Source{}, timeAlignment: source.NewTimeAlignment(), foreign: map[string]*kgo.Client{},
	}
	a.logger = cfg.Logger.With("job", cfg.Job, "attempt", a.id[:8])
	defer func() {
		if err != nil {
			err = a.offer(ctx, err)
			a.close()
		}
	}()
	a.group, a.ctx = errgroup.WithContext(ctx)
	a.aside = newAside(ctx)
	if err := a.connect(ctx); err != nil {
		return a, err
	}
	leaders := ask(a.aside, func(ctx context.Context) (struct{}, error) { return struct{}{}, a.waitLeaders(ctx) })
	if !j.ran.Load() {
		if err := a.preflight(ctx); err != nil {
			return a, err
		}
		if err := a.own(ctx); err != nil {
			return a, err
		}
	} else if err := a.stillOurs(ctx); err != nil {
		return a, err
	}
	a.laps.end("connect")
	cfg.Fault.At(fault.Connected)
	if _, err := leaders(); err != nil {
		return a, err
	}
	if err := a.tx.Fence(ctx); err != nil {
		return a, err
	}
	a.laps.end("fence")
	cfg.Fault.At(fault.Fenced)
	if err := a.tx.Settle(ctx, a.log, a.outputTopics()); err != nil {
		return a, err
	}
	a.laps.end("settle")
	res, err := a.resolve(ctx)
	if err != nil {
		return a, err
	}
	a.laps.end("resolve")
	cfg.Fault.At(fault.Resolved)
	a.tell(res)
	if res.Kind == checkpoint.ResolvedEnded {
		for _, s := range res.Unfinished { // rule 13: whatever else there is to do
			if _, err := a.copySavepoint(ctx, s); err != nil {
				err = fmt.Errorf("savepoint %s of the last checkpoint is not whole, and cannot be finished: %w", s.Directory, err)
				if res.Pointer.Drained {
					err = fmt.Errorf("%w; %w", checkpoint.Drained(res.Pointer), err)
				}
				return a, err
			}
		}
		if res.Pointer.Drained {
			return a, checkpoint.Drained(res.Pointer)
		}
		return a, errEnded
	}
	if err := a.restore(ctx, res); err != nil {
		return a, err
	}
	a.tellAgain(res.Kind, res.Pointer, a.before)
	a.laps.end("state")
	cfg.Fault.At(fault.StateOpened)
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
	a.laps.end("build")
	cfg.Fault.At(fault.Built)
	if err := a.first(ctx, res); err != nil {
		return a, err
	}
	a.laps.end("commit")
	return a, nil
}

// laps are the parts of a recovery and what each took, for the log.
type laps struct {
	last time.Time
	took []any
}

func (l *laps) end(name string) {
	now := time.Now()
	l.took = append(l.took, name, now.Sub(l.last))
	l.last = now
}

// waitLeaders waits until everything that the job writes to has a leader. What the coordinators tell of earlier transactions
// is lost by the fencing, and Settle needs it: a recovery that has to wait does so before. A topic that does not exist is
// somebody else's to report.
func (a *attempt) waitLeaders(ctx context.Context) error {
	cluster := kafka.NewCluster(a.client)
	topics, err := cluster.Topics(ctx, append(a.outputTopics(), a.log.Topic())...)
	if errors.Is(err, kafka.ErrNoTopic) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, topic := range topics {
		if topic.HasLeaders() {
			continue
		}
		if _, err := cluster.WaitTopic(ctx, topic.Name); err != nil {
			return err
		}
	}
	return nil
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
	a.laps.end("sources")
	return a.openState(ctx, res)
}

// foreignClient reaches a source's own cluster, once.
func (a *attempt) foreignClient(ctx context.Context, n *Node) (*kgo.Client, error) {
	if client := a.foreign[n.Name]; client != nil {
		return client, nil
	}
	client, err := kafka.Dial(ctx, *n.Source.Kafka)
	if err != nil {
		return nil, locate("source", n.Name, err)
	}
	a.closers = append(a.closers, client.Close)
	a.foreign[n.Name] = client
	return client, nil
}

// openSource opens a source at the pointer that was decided on; nil for a first start.
func (a *attempt) openSource(ctx context.Context, n *Node, from *checkpoint.Pointer) error {
	src, splits, err := a.resolveSource(ctx, n, from)
	if err != nil {
		return err
	}
	a.cfg.Fault.At(fault.SourceOpened)
	a.last.Sources = append(a.last.Sources, checkpoint.Source{Name: n.Name, Splits: splits})
	a.last.Topics = append(a.last.Topics, src.Topics()...)
	return nil
}

// resolveSource opens a source, once, and asks it what it would read.
func (a *attempt) resolveSource(ctx context.Context, n *Node, from *checkpoint.Pointer) (source.Source, []checkpoint.Split, error) {
	src := a.sources[n]
	if src == nil {
		var err error
		if opened := a.opening[n]; opened != nil {
			src, err = opened()
		} else {
			src, err = a.openAlone(ctx, n)
		}
		if err != nil {
			return nil, nil, err
		}
		a.sources[n] = src
	}
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
		return nil, nil, err
	}
	sortSplits(splits)
	return src, splits, nil
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

// tell logs what the attempt begins from, and everything that is dropped on the way, by name (C38, C41).
func (a *attempt) tell(res *checkpoint.Resolution) {
	if res.Loses {
		a.logger.Warn(res.Note)
	} else {
		a.logger.Info(res.Note)
	}
	for _, what := range res.Dropped {
		a.logger.Warn(what)
	}
}

// first commits the attempt's own first checkpoint (rule 10).
func (a *attempt) first(ctx context.Context, res *checkpoint.Resolution) error {
	garbage := ask(a.aside, a.listGarbage)
	whole, err := a.remember(ctx, res.Unfinished)
	if err != nil {
		return err
	}
	listed, err := garbage()
	if err != nil {
		return err
	}
	if err := a.leave(ctx, res, listed); err != nil {
		return err
	}
	if !whole || a.leftUnread {
		listed = nil // what the others need is not known
	}
	a.last.Operators = a.describe(a.watermarks)
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Checkpoint.Timeout)
	defer cancel()
	if _, err := a.commit(ctx, a.last); err != nil {
		return fmt.Errorf("checkpoint %d: %w", a.last.Checkpoint, err)
	}
	a.job.recovered.Store(&recovered{attempt: a.id, began: res.Last, committed: true})
	a.cfg.Fault.At(fault.Begun)
	a.listed = listed
	a.committed(a.last)
	a.coord = newCoordination(a)
	for _, s := range a.last.Unfinished {
		a.startSavepoint(s)
	}
	return nil
}

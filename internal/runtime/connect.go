package runtime

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// connect reaches the cluster and checks what can be checked there. Nothing is made before the job's topics are known to be
// there: neither the checkpoint topic nor a directory.
func (a *attempt) connect(ctx context.Context) (err error) {
	cfg := a.cfg
	if a.client, err = kafka.Dial(ctx, cfg.Kafka, append(faultHooks(cfg.Fault), giveUpSilent(cfg.Producer.RequestTimeout)...)...); err != nil {
		return err
	}
	a.closers = append(a.closers, a.client.Close)
	cluster := kafka.NewCluster(a.client)
	timeouts := ask(a.aside, cluster.MaxTransactionTimeout)
	a.openSources()
	topic := cfg.Checkpoint.Topic(cfg.Job)
	if a.log, err = sink.NewPointerLog(a.client, cfg.logConfig()); err != nil {
		return err
	}
	find := ask(a.aside, a.findLog)
	var missing error
	var listed func() ([]sink.LoggedPointer, error) // for preflight
	if !a.job.ran.Load() {
		listed = ask(a.aside, func(ctx context.Context) ([]sink.LoggedPointer, error) {
			if there, _ := find(); !there {
				return nil, nil
			}
			return a.log.List(ctx, 1)
		})
		a.clusterID = ask(a.aside, cluster.ID)
		missing = a.topicsThere(ctx, find)
	}
	longest, err := timeouts()
	if err != nil {
		return err
	}
	if err := cfg.Checkpoint.CheckTimeouts(longest); err != nil {
		return &OptionError{err}
	}
	if missing != nil {
		return missing
	}
	store, err := checkpoint.OpenStore(ctx, cfg.Checkpoint.Storage)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, func() { _ = store.Close() })
	a.files = a.filesOf(store)
	if err := a.notOwned(ctx); err != nil {
		return err
	}
	there, _ := find() // what is wrong is found again
	if err := a.log.Ensure(ctx); err != nil {
		return err
	}
	a.listed1 = listed
	if !there && !a.log.Made() { // somebody else has made it meanwhile
		a.listed1 = func() ([]sink.LoggedPointer, error) { return a.log.List(ctx, 1) }
	}
	tx, err := sink.NewTransactions(ctx, sink.Config{
		Client: a.client, Job: cfg.Job, Shard: a.shard, Prefix: cfg.Checkpoint.Prefix, CheckpointTopic: topic,
		Partition: int32(a.shard), Group: cfg.Checkpoint.GroupID(cfg.Job), Mode: string(cfg.Checkpoint.Mode),
		TransactionTimeout: cfg.Checkpoint.TransactionTimeout, Now: cfg.Now, Logger: a.logger,
		Compression: cfg.Producer.Compression, MaxBuffered: cfg.Producer.MaxBuffered, Patience: cfg.Checkpoint.Timeout / 3, MaxBatchBytes: cfg.Producer.MaxBatchBytes,
		RequestTimeout: cfg.Producer.RequestTimeout, Fault: cfg.Fault,
	})
	if err != nil {
		return err
	}
	a.tx = tx
	a.closers = append(a.closers, tx.Close)
	return nil
}

// findLog looks for the checkpoint topic.
func (a *attempt) findLog(ctx context.Context) (there bool, err error) {
	err = a.log.Find(ctx)
	if errors.Is(err, kafka.ErrNoTopic) {
		return false, nil
	}
	return err == nil, err
}

// openSources begins to connect to the cluster for each source. What goes wrong is told where the source is needed.
func (a *attempt) openSources() {
	a.opening = map[*Node]func() (source.Source, error){}
	for _, n := range a.graph.Nodes {
		if n.Source == nil || n.Source.Kafka != nil {
			continue
		}
		a.opening[n] = ask(a.aside, func(ctx context.Context) (source.Source, error) {
			src, err := a.dialSource(ctx, n, a.cfg.Kafka)
			if err == nil {
				a.aside.onClose(src.Close)
			}
			return src, err
		})
	}
}

// openAlone opens a source that was not opened beside.
func (a *attempt) openAlone(ctx context.Context, n *Node) (source.Source, error) {
	cluster := a.cfg.Kafka
	if n.Source.Kafka != nil {
		cluster = *n.Source.Kafka
		if _, err := a.foreignClient(ctx, n); err != nil {
			return nil, err
		}
	}
	src, err := a.dialSource(ctx, n, cluster)
	if err == nil {
		a.closers = append(a.closers, src.Close)
	}
	return src, err
}

func (a *attempt) dialSource(ctx context.Context, n *Node, cluster kafka.Config) (source.Source, error) {
	return n.Source.Spec.Open(ctx, source.Env{
		Dial: func(ctx context.Context, extra ...kgo.Opt) (*kgo.Client, error) {
			return kafka.Dial(ctx, cluster, extra...)
		},
		Name: n.Name, Group: a.cfg.Checkpoint.GroupID(a.cfg.Job), Now: a.now, Rest: a.rest, TimeAlignment: a.timeAlignment, Logger: a.logger,
	})
}

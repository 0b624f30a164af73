package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

// bounds are what is compared with what: p0 and p1 (package comment), and the part of the output that belongs to them.
type bounds struct {
	p0, p1 *checkpoint.Pointer
	// outputs are by number of the topic.
	outputs []outputTopic
}

type outputTopic struct {
	name       string
	partitions []outputPartition
	// appendTime: the broker replaces timestamps.
	appendTime bool
	// before says that older output may stand before the range, gone that the beginning of the log has been deleted.
	before, gone bool
}

type outputPartition struct{ from, to int64 }

// patience is how long an open transaction on the output is waited for.
const patience = 2 * time.Minute

// findBounds reads p0, the end of the output, and p1.
func findBounds(ctx context.Context, cl *kgo.Client, job *Job, o *Options) (*bounds, error) {
	topic := job.Checkpoint.Topic(job.Name)
	cluster := kafka.NewCluster(cl)
	if _, err := cluster.Topic(ctx, topic); err != nil {
		if errors.Is(err, kafka.ErrNoTopic) {
			return nil, refuse("", "job %s has no checkpoint, so there is nothing to verify: there is no topic %s", job.Name, topic)
		}
		return nil, err
	}
	log, err := sink.NewPointerLog(cl, sink.LogConfig{Topic: topic, Group: job.Checkpoint.GroupID(job.Name)})
	if err != nil {
		return nil, err
	}
	b := &bounds{}
	if b.p0, err = lastPointer(ctx, log, job); err != nil {
		return nil, err
	}
	for _, name := range written(job.Graph) {
		t, err := outputOf(ctx, cluster, name, o)
		if err != nil {
			return nil, err
		}
		b.outputs = append(b.outputs, t)
	}
	for _, t := range b.outputs {
		if err := decided(ctx, cluster, &t); err != nil {
			return nil, err
		}
	}
	if b.p1, err = lastPointer(ctx, log, job); err != nil {
		return nil, err
	}
	if b.p1.Lineage != b.p0.Lineage {
		return nil, refuse("", "the job began anew meanwhile (lineage %.8s after %.8s): verify it again", b.p1.Lineage, b.p0.Lineage)
	}
	return b, nil
}

func lastPointer(ctx context.Context, log *sink.PointerLog, job *Job) (*checkpoint.Pointer, error) {
	logged, err := log.Last(ctx)
	if err != nil {
		return nil, err
	}
	if logged == nil {
		return nil, refuse("", "job %s has no checkpoint, so there is nothing to verify: topic %s is empty", job.Name, log.Topic())
	}
	p, err := checkpoint.DecodePointer(logged.Value)
	if err == nil && p.File != nil {
		store, opening := checkpoint.OpenStoreToRead(ctx, job.Checkpoint.Storage)
		if opening != nil {
			return nil, opening
		}
		p, err = checkpoint.LoadPointer(ctx, checkpoint.NewFiles(store, nil), logged.Value)
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("topic %s offset %d: %w", log.Topic(), logged.Offset, err)
	}
	if p.Job != job.Name {
		return nil, refuse("", "topic %s belongs to job %q, not to %q", log.Topic(), p.Job, job.Name)
	}
	return p, nil
}

// outputOf finds out what a topic holds.
func outputOf(ctx context.Context, cluster *kafka.Cluster, name string, o *Options) (outputTopic, error) {
	t := outputTopic{name: name}
	found, err := cluster.Topic(ctx, name)
	if err != nil {
		return t, err
	}
	settings, err := cluster.TopicSettings(ctx, name)
	switch {
	case err == nil && settings.CleanupPolicy != "delete" && !o.Last:
		return t, refuse("", "topic %s is compacted (cleanup.policy %s), so that not every result is still there: --last compares the last value of each key", name, settings.CleanupPolicy)
	case err == nil:
		t.appendTime = settings.TimestampType == "LogAppendTime"
	case !kafka.IsAuthorization(err):
		return t, err
	}
	logs, err := cluster.Logs(ctx, name)
	if err != nil {
		return t, err
	}
	for i := range found.Partitions {
		log, from := logs[name][int32(i)], o.OutputFrom[name][int32(i)]
		t.gone = t.gone || log.Start > from
		t.partitions = append(t.partitions, outputPartition{max(log.Start, from), log.End})
	}
	return t, nil
}

// decided waits until no transaction is open below the end of a topic.
func decided(ctx context.Context, cluster *kafka.Cluster, t *outputTopic) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var backoff kafka.Backoff
	for {
		logs, err := cluster.Logs(ctx, t.name)
		if err != nil {
			return err
		}
		open := -1
		for i, p := range t.partitions {
			if logs[t.name][int32(i)].Stable < p.to {
				open = i
			}
		}
		if open < 0 {
			return nil
		}
		if !backoff.Wait(ctx) {
			return fmt.Errorf("topic %s partition %d: a transaction is open at offset %d and did not end within %s", t.name, open, logs[t.name][int32(open)].Stable, patience)
		}
	}
}

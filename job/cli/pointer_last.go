package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

// head is the last pointer in a checkpoint topic without what is in a file of its own, nil if there is no such topic or nothing
// in it.
func (j *connected) head(ctx context.Context, topic string) (*checkpoint.Pointer, error) {
	logged, err := j.newest(ctx, topic)
	if err != nil || logged == nil {
		return nil, err
	}
	return checkpoint.DecodePointer(logged.Value)
}

func (j *connected) newest(ctx context.Context, topic string) (*sink.LoggedPointer, error) {
	_, err := j.cluster.Topic(ctx, topic)
	if errors.Is(err, kafka.ErrNoTopic) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	log, err := sink.NewPointerLog(j.client, sink.LogConfig{Topic: topic})
	if err != nil {
		return nil, err
	}
	logged, err := log.List(ctx, 1)
	if err != nil || len(logged) == 0 {
		return nil, err
	}
	return &logged[0], nil
}

// last is head with what is in the file.
func (j *connected) last(ctx context.Context, topic string) (*checkpoint.Pointer, error) {
	logged, err := j.newest(ctx, topic)
	if err != nil || logged == nil {
		return nil, err
	}
	head, err := checkpoint.DecodePointer(logged.Value)
	if err != nil || head.File == nil {
		return head, err
	}
	if j.storage == "" {
		return nil, fmt.Errorf("job %s: the offsets of checkpoint %d are in a file of its storage: name the job's file", j.job, head.Checkpoint)
	}
	store, err := checkpoint.OpenStoreToRead(ctx, j.storage)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return checkpoint.LoadPointer(ctx, checkpoint.NewFiles(store, nil), logged.Value)
}

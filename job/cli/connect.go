package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
)

// patient bounds what commands ask of the brokers.
const patient = 30 * time.Second

// connected is a job's cluster and names.
type connected struct {
	job string
	// storage is checkpoint.storage, "" if only the job's name is known.
	storage string
	options checkpoint.Options
	client  *kgo.Client
	cluster *kafka.Cluster
}

func (p *program) connect(ctx context.Context, c *cli.Context) (*connected, error) {
	name, config, options, err := p.whose(c)
	if err != nil {
		return nil, err
	}
	client, err := kafka.Dial(ctx, config)
	if err != nil {
		return nil, err
	}
	storage := options.Storage
	if p.graph == nil && !isFile(c.Args().First()) {
		storage = ""
	}
	return &connected{name, storage, options, client, kafka.NewCluster(client)}, nil
}

// onJob connects to the cluster of the job that is a command's first argument, and does something with it that takes no longer
// than timeout; asJSON is what --output says.
func (p *program) onJob(c *cli.Context, timeout time.Duration, do func(ctx context.Context, j *connected, asJSON bool) error) error {
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, timeout)
	defer cancel()
	j, err := p.connect(ctx, c)
	if err != nil {
		return err
	}
	defer j.client.Close()
	return do(ctx, j, asJSON)
}

// whose finds out which job is meant and where it is.
func (p *program) whose(c *cli.Context) (string, kafka.Config, checkpoint.Options, error) {
	name := c.Args().First()
	if p.graph != nil || isFile(name) {
		l, err := p.load(c)
		if err != nil {
			return "", kafka.Config{}, checkpoint.Options{}, err
		}
		l.options.EnsureDefaults()
		return l.graph.Name(), l.options.Kafka, l.options.Checkpoint, nil
	}
	config, err := cluster(c)
	if err != nil && len(config.Brokers) == 0 {
		return "", kafka.Config{}, checkpoint.Options{}, usagef("%s: %s is not a file: with a job's name, --brokers is needed", called(c), name)
	}
	o := checkpoint.Options{Prefix: c.String("prefix")}
	o.EnsureDefaults()
	return name, config, o, err
}

// there says whether the job has a checkpoint topic: without one it has never run.
func (j *connected) there(ctx context.Context) error {
	topic := j.options.Topic(j.job)
	_, err := j.cluster.Topic(ctx, topic)
	if errors.Is(err, kafka.ErrNoTopic) {
		// Not ErrNoTopic: that is for topics which somebody has to create.
		return fmt.Errorf("job %s has no checkpoints: there is no topic %s", j.job, topic)
	}
	return err
}

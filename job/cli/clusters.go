package cli

import (
	"context"
	"io/fs"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/savepoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob"
)

// clusterFlags say where the brokers are for a command whose argument is not a job.
func (p *program) clusterFlags() []cli.Flag {
	usage := "`HOST:PORT`, several with commas between [$KAFKA_BROKERS]"
	flags := []cli.Flag{}
	if p.graph == nil {
		usage = "`HOST:PORT`, several with commas between [$KAFKA_BROKERS, without --job]"
		flags = append(flags, &cli.StringFlag{Name: "job", Usage: "a job's `FILE`, which says where brokers are and who is asking; --brokers wins over it"})
	}
	flags = append(flags, &cli.StringFlag{Name: "brokers", Usage: usage})
	return append(flags, p.jobFlags()...)
}

// clusterOf reads clusterFlags. config is nil if only brokers were named; ok is false if nothing was.
func (p *program) clusterOf(c *cli.Context) (brokers kafka.Config, config *runtime.Config, ok bool, err error) {
	var graph *job.Graph
	var options job.Options
	switch {
	case p.graph != nil:
		l, err := p.load(c)
		if err != nil {
			return brokers, nil, false, err
		}
		graph, options = l.graph, l.options
	case c.String("job") != "":
		l, err := yamljob.Load(c.String("job"), yamljob.LoadOptions{Set: c.StringSlice("set")})
		if as[*fs.PathError](err) {
			return brokers, nil, false, &usageError{err}
		}
		if err != nil {
			return brokers, nil, false, &invalid{err}
		}
		graph, options = l.Graph, l.Options
	case c.String("brokers") != "" || os.Getenv("KAFKA_BROKERS") != "":
		brokers, err = cluster(c)
		return brokers, nil, err == nil, err
	default:
		return brokers, nil, false, nil
	}
	if c.String("brokers") != "" {
		if brokers, err = cluster(c); err != nil {
			return brokers, nil, false, err
		}
		options.Kafka.Brokers = brokers.Brokers
	}
	prepared, err := graph.Prepare(options)
	if err != nil {
		return brokers, nil, false, &invalid{err}
	}
	config = prepared.Config()
	return config.Kafka, config, true, nil
}

// ownClusters are those of sources that do not read from the job's, by their names; config may be nil.
func ownClusters(config *runtime.Config) map[string]kafka.Config {
	own := map[string]kafka.Config{}
	if config == nil {
		return own
	}
	for _, n := range config.Graph.Nodes {
		if n.Source != nil && n.Source.Kafka != nil {
			own[n.Name] = *n.Source.Kafka
		}
	}
	return own
}

// sourceLogs gives the cluster of a source, by its name before renaming, nil if no brokers were named. Each is dialled when it
// is asked for, once.
func (p *program) sourceLogs(c *cli.Context, rename map[string]string) (func(context.Context, string) (savepoint.Logs, error), func(), error) {
	main, config, ok, err := p.clusterOf(c)
	if err != nil || !ok {
		return nil, func() {}, err
	}
	own := ownClusters(config)
	clients := map[string]*kgo.Client{}
	closeAll := func() {
		for _, cl := range clients {
			cl.Close()
		}
	}
	return func(ctx context.Context, source string) (savepoint.Logs, error) {
		of, name := main, ""
		for _, called := range []string{source, rename[source]} {
			if at, ok := own[called]; ok {
				of, name = at, called
			}
		}
		if clients[name] == nil {
			cl, err := kafka.Dial(ctx, of)
			if err != nil {
				return nil, err
			}
			clients[name] = cl
		}
		return savepoint.ClusterLogs{Client: clients[name]}, nil
	}, closeAll, nil
}

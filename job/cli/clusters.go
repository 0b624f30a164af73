package cli

import (
	"context"
	"io/fs"
	"os"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
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
	l := loaded{graph, options}
	if config, err = l.config(); err != nil {
		return brokers, nil, false, err
	}
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

// configOf is the job that is a command's first argument as it would run, nil if only its name is known.
func (p *program) configOf(c *cli.Context) (*runtime.Config, error) {
	if p.graph == nil && !isFile(c.Args().First()) {
		return nil, nil
	}
	l, err := p.load(c)
	if err != nil {
		return nil, err
	}
	return l.config()
}

// sourceClusters are ownClusters of the job that is a command's argument; none if only its name is known.
func (p *program) sourceClusters(c *cli.Context) (map[string]kafka.Config, error) {
	config, err := p.configOf(c)
	return ownClusters(config), err
}

// sourceGroup are sources that read from one cluster, in the order of their pointer.
type sourceGroup struct {
	config  kafka.Config // zero for the job's own
	sources []checkpoint.Source
}

// byCluster groups sources by where they read from: "" is the job's own cluster, else the name that messages have for it.
func byCluster(sources []checkpoint.Source, elsewhere map[string]kafka.Config) map[string]sourceGroup {
	groups := map[string]sourceGroup{}
	for _, src := range sources {
		name := ""
		config, ok := elsewhere[src.Name]
		if ok {
			name = config.String()
		}
		groups[name] = sourceGroup{config, append(groups[name].sources, src)}
	}
	return groups
}

// topicNames are the topics that sources read, in order.
func topicNames(sources []checkpoint.Source) []string {
	var names []string
	for _, src := range sources {
		for _, s := range src.Splits {
			names = append(names, s.Topic)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
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

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

func (p *program) checkpoints() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append(append(p.jobFlags(),
			&cli.StringFlag{Name: "brokers", EnvVars: []string{"KAFKA_BROKERS"}, Usage: "`HOST:PORT`, if JOB is a name"},
			&cli.StringFlag{Name: "prefix", Usage: "the job's checkpoint.prefix, if JOB is a name (default: weir)"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"}), more...)
	}
	return &cli.Command{
		Name:  "checkpoints",
		Usage: "look at a job's checkpoints, whether it runs or not",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list checkpoints, newest first", ArgsUsage: p.jobArg("JOB"),
				Description: "JOB is a file or a job's name. A start continues from the newest; run JOB --from checkpoint:ID goes back to an\n" +
					"older one. Of those the topic has the record, but their files may be gone: checkpoint.retained says how many are\n" +
					"kept whole (1). See savepoint.",
				Flags:  flags(&cli.IntFlag{Name: "limit", Value: 20, Usage: "how many"}),
				Action: p.listCheckpoints,
			},
			{
				Name: "show", Usage: "show one checkpoint: offsets, operators, files; the newest unless an ID is given", ArgsUsage: p.jobArg("JOB") + " [ID]",
				Flags:  flags(),
				Action: p.showCheckpoint,
			},
		},
	}
}

// pointers reads up to max pointers of a job, newest first.
func (p *program) pointers(c *cli.Context, limit int) ([]*checkpoint.Pointer, error) {
	name, config, options, err := p.whose(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.Context, 30*time.Second)
	defer cancel()
	cl, err := kafka.Dial(ctx, config)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	topic := options.Topic(name)
	if _, err := kafka.NewCluster(cl).Topic(ctx, topic); err != nil {
		if errors.Is(err, kafka.ErrNoTopic) {
			// Not ErrNoTopic: that is for topics which somebody has to create.
			return nil, fmt.Errorf("job %s has no checkpoints: there is no topic %s", name, topic)
		}
		return nil, err
	}
	log, err := sink.NewPointerLog(cl, sink.LogConfig{Topic: topic, Group: options.GroupID(name)})
	if err != nil {
		return nil, err
	}
	logged, err := log.List(ctx, limit)
	if err != nil {
		return nil, err
	}
	var pointers []*checkpoint.Pointer
	for _, l := range logged {
		ptr, err := checkpoint.DecodePointer(l.Value)
		if err != nil {
			return nil, fmt.Errorf("topic %s: offset %d: %w", topic, l.Offset, err)
		}
		pointers = append(pointers, ptr)
	}
	if len(pointers) == 0 {
		return nil, fmt.Errorf("job %s has no checkpoints: topic %s is empty", name, topic)
	}
	return pointers, nil
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
	if c.String("brokers") == "" {
		return "", kafka.Config{}, checkpoint.Options{}, usagef("%s: %s is not a file: with a job's name, --brokers is needed", called(c), name)
	}
	config, err := cluster(c)
	o := checkpoint.Options{Prefix: c.String("prefix")}
	o.EnsureDefaults()
	return name, config, o, err
}

func (p *program) listCheckpoints(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	if c.Int("limit") < 1 {
		return usagef("checkpoints list: --limit is 1 or more")
	}
	pointers, err := p.pointers(c, c.Int("limit"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return p.printJSON(pointers)
	}
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"id", "time", "attempt", "lineage", "host", "began with", "size", "note"})
	for i, ptr := range pointers {
		n := note(ptr)
		if i == 0 {
			n = strings.TrimSuffix("a start continues from it, "+n, ", ")
		}
		t.AppendRow(table.Row{ptr.Checkpoint, stamp(ptr.Time), short(ptr.Attempt), short(ptr.Lineage), ptr.Host, shortRequest(ptr.Request), stateSize(ptr), n})
	}
	t.Render()
	return nil
}

func (p *program) showCheckpoint(c *cli.Context) error {
	if err := p.wantJob(c, 1); err != nil {
		return err
	}
	at := 1
	if p.graph != nil {
		at = 0
	}
	id, limit := int64(0), 1
	if arg := c.Args().Get(at); arg != "" {
		var err error
		if id, err = strconv.ParseInt(arg, 10, 64); err != nil || id < 1 {
			return usagef("checkpoints show: %q is not a checkpoint's ID", arg)
		}
		limit = 10_000
	}
	pointers, err := p.pointers(c, limit)
	if err != nil {
		return err
	}
	for _, ptr := range pointers {
		if id == 0 || ptr.Checkpoint == id {
			if c.Bool("json") {
				return p.printJSON(ptr)
			}
			p.printPointer(ptr)
			return nil
		}
	}
	return fmt.Errorf("checkpoint %d is not in the topic: the newest is %d, the oldest %d", id, pointers[0].Checkpoint, pointers[len(pointers)-1].Checkpoint)
}

func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

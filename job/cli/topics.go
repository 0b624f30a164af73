package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/job/yamljob"
)

func (p *program) topics() *cli.Command {
	return &cli.Command{
		Name:  "topics",
		Usage: "look at topics and make them: for trying things, without Kafka's own tools",
		Subcommands: []*cli.Command{
			{
				Name: "create", Usage: "create topics; one that exists already is left as it is", ArgsUsage: "TOPIC[:PARTITIONS] ...",
				Flags: []cli.Flag{brokersFlag(), &cli.IntFlag{Name: "replication", Value: -1, Usage: "replication factor; -1 is the broker's default"},
					&cli.StringFlag{Name: "retention", Usage: "retention.ms as a `DURATION` such as 7d, or -1 for ever (default: the broker's)"}},
				Action: func(c *cli.Context) error {
					specs, err := topicSpecs("create", c.Args().Slice())
					if err != nil {
						return err
					}
					configs, err := retention(c.String("retention"))
					if err != nil {
						return err
					}
					return p.withAdmin(c, func(ctx context.Context, admin *kadm.Client) error {
						return p.createTopics(ctx, admin, specs, int16(c.Int("replication")), configs)
					})
				},
			},
			{
				Name: "add-partitions", Usage: "give topics more partitions; keys go to other ones from then on", ArgsUsage: "TOPIC:PARTITIONS ...",
				Description: "PARTITIONS is how many the topic has afterwards. One that has as many is left as it is; Kafka takes none away. What is\n" +
					"written already stays where it is, so that the records of a key may lie in two partitions, without an order between them.",
				Flags: []cli.Flag{brokersFlag()},
				Action: func(c *cli.Context) error {
					specs, err := grownTopics(c.Args().Slice())
					if err != nil {
						return err
					}
					return p.withAdmin(c, func(ctx context.Context, admin *kadm.Client) error { return p.addPartitions(ctx, admin, specs) })
				},
			},
			{
				Name: "list", Usage: "list topics: partitions, and offsets that a read_committed reader passes", Flags: append(outputFlags(), brokersFlag()),
				Description: "OFFSETS counts records and also the markers of transactions, one or more a checkpoint: a topic that a job writes\n" +
					"has more offsets than records. topics read prints the records.",
				Action: func(c *cli.Context) error {
					asJSON, err := wantsJSON(c)
					if err != nil {
						return err
					}
					return p.withAdmin(c, func(ctx context.Context, admin *kadm.Client) error { return p.listTopics(ctx, admin, asJSON) })
				},
			},
			p.readTopic(),
		},
	}
}

type topicSpec struct {
	name       string
	partitions int32
	// said: the number was given, and not made up for a new topic.
	said bool
}

// topicSpecs reads the arguments TOPIC[:PARTITIONS] of a command of topics. Without a number it is one partition.
func topicSpecs(command string, args []string) ([]topicSpec, error) {
	if len(args) == 0 {
		return nil, usagef("topics %s: name at least one topic", command)
	}
	var specs []topicSpec
	for _, arg := range args {
		name, count, found := strings.Cut(arg, ":")
		partitions := int64(1)
		if found {
			var err error
			if partitions, err = strconv.ParseInt(count, 10, 32); err != nil || partitions < 1 {
				return nil, usagef("topics %s: %q: the number of partitions is not 1 or more", command, arg)
			}
		}
		if name == "" {
			return nil, usagef("topics %s: %q: no name", command, arg)
		}
		specs = append(specs, topicSpec{name, int32(partitions), found})
	}
	return specs, nil
}

// retention is the setting that keeps the records of a topic for a time; empty is the broker's default.
func retention(s string) (map[string]*string, error) {
	if s == "" {
		return nil, nil
	}
	ms := int64(-1)
	if s != "-1" {
		d, err := yamljob.ParseDuration(s)
		if err != nil || d < time.Millisecond {
			return nil, usagef("topics create: --retention: want a duration, such as 36h or 7d, or -1 for ever, got %q", s)
		}
		ms = d.Milliseconds()
	}
	return map[string]*string{"retention.ms": kadm.StringPtr(strconv.FormatInt(ms, 10))}, nil
}

// withAdmin connects to the cluster that --brokers names.
func (p *program) withAdmin(c *cli.Context, do func(context.Context, *kadm.Client) error) error {
	config, err := cluster(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, 30*time.Second)
	defer cancel()
	cl, err := kafka.Dial(ctx, config)
	if err != nil {
		return err
	}
	defer cl.Close()
	return do(ctx, kadm.NewClient(cl))
}

func (p *program) createTopics(ctx context.Context, admin *kadm.Client, specs []topicSpec, replication int16, configs map[string]*string) error {
	var others []string
	for _, s := range specs {
		_, err := admin.CreateTopic(ctx, s.partitions, replication, configs, s.name)
		switch {
		case errors.Is(err, kerr.TopicAlreadyExists):
			there, err := partitionsOf(ctx, admin, s.name)
			if err != nil {
				return err
			}
			if s.said && there != int(s.partitions) {
				others = append(others, otherNumber(s, there))
				continue
			}
			fmt.Fprintf(p.stdout, "topic %s exists, with %s\n", s.name, english.Plural(there, "partition", ""))
		case err != nil:
			return fmt.Errorf("topic %s: %w", s.name, err)
		default:
			fmt.Fprintf(p.stdout, "topic %s created with %s\n", s.name, english.Plural(int(s.partitions), "partition", ""))
		}
	}
	if len(others) > 0 {
		return errors.New(strings.Join(others, "; "))
	}
	return nil
}

func partitionsOf(ctx context.Context, admin *kadm.Client, topic string) (int, error) {
	details, err := admin.ListTopics(ctx, topic)
	if err == nil {
		err = details.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("topic %s: %w", topic, err)
	}
	return len(details[topic].Partitions), nil
}

// otherNumber says of a topic that it has another number of partitions than was asked for: it is left as it is.
func otherNumber(s topicSpec, there int) string {
	remedy := "Kafka takes none away"
	if there < int(s.partitions) {
		remedy = fmt.Sprintf("topics add-partitions %s:%d gives it more", s.name, s.partitions)
	}
	return fmt.Sprintf("topic %s exists, with %s instead of %d: %s", s.name, english.Plural(there, "partition", ""), s.partitions, remedy)
}

// listedTopic is what list prints of a topic as JSON.
type listedTopic struct {
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Offsets    int64  `json:"offsets"`
}

func (p *program) listTopics(ctx context.Context, admin *kadm.Client, asJSON bool) error {
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	names := topics.Names()
	slices.Sort(names)
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return err
	}
	ends, err := admin.ListCommittedOffsets(ctx, names...)
	if err != nil {
		return err
	}
	listed := []listedTopic{}
	for _, name := range names {
		var n int64
		for partition, end := range ends[name] {
			if start, ok := starts.Lookup(name, partition); ok && end.Err == nil && start.Err == nil {
				n += end.Offset - start.Offset
			}
		}
		listed = append(listed, listedTopic{name, len(topics[name].Partitions), n})
	}
	if asJSON {
		return p.printJSON(listed)
	}
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"topic", "partitions", "offsets"})
	for _, l := range listed {
		t.AppendRow(table.Row{l.Topic, l.Partitions, l.Offsets})
	}
	t.Render()
	return nil
}

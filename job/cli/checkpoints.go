package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor/probe"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

func (p *program) checkpoints() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return slices.Concat(p.jobFlags(), nameFlags(), outputFlags(), more)
	}
	return &cli.Command{
		Name:  "checkpoints",
		Usage: "look at a job's checkpoints, whether it runs or not; delete files that none needs",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list checkpoints, newest first", ArgsUsage: p.jobArg("JOB"),
				Description: "JOB is a file or a job's name. A start continues from the newest; run JOB --from checkpoint:ID goes back to an\n" +
					"older one that is RESTORABLE: all that it needs is there, by name and size. checkpoint.retained (1) says how many are\n" +
					"at least; others stay until the job that runs deletes what they need, which may be at its next checkpoint. The last one\n" +
					"of a lineage that was left behind (by --fresh, --from) stays until another lineage begins.",
				Flags:  flags(&cli.IntFlag{Name: "limit", Value: 20, Usage: "how many"}),
				Action: p.listCheckpoints,
			},
			{
				Name: "show", Usage: "show one checkpoint: offsets, operators, files; the newest unless an ID is given", ArgsUsage: p.jobArg("JOB") + " [ID]",
				Flags:  flags(),
				Action: p.showCheckpoint,
			},
			p.checkpointsGC(),
		},
	}
}

// logged is what a job's checkpoint topic has, and where it is.
type logged struct {
	*connected
	topic    string
	pointers []sink.LoggedPointer // at least one, newest first
}

// pointers reads up to max pointers of a job, newest first. The caller closes the client.
func (p *program) pointers(ctx context.Context, c *cli.Context, limit int) (*logged, error) {
	j, err := p.connect(ctx, c)
	if err != nil {
		return nil, err
	}
	l := &logged{connected: j, topic: j.options.Topic(j.job)}
	if err := l.read(ctx, limit); err != nil {
		j.client.Close()
		return nil, err
	}
	return l, nil
}

func (l *logged) read(ctx context.Context, limit int) error {
	if err := l.there(ctx); err != nil {
		return err
	}
	log, err := sink.NewPointerLog(l.client, sink.LogConfig{Topic: l.topic, Group: l.options.GroupID(l.job)})
	if err != nil {
		return err
	}
	if l.pointers, err = log.List(ctx, limit); err != nil {
		return err
	}
	if len(l.pointers) == 0 {
		return fmt.Errorf("job %s has no checkpoints: topic %s is empty", l.job, l.topic)
	}
	return nil
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

// decoded is a pointer as the topic has it, without what is in a file of its own.
func (l *logged) decoded(i int) (*checkpoint.Pointer, error) {
	ptr, err := checkpoint.DecodePointer(l.pointers[i].Value)
	if err != nil {
		return nil, fmt.Errorf("topic %s: offset %d: %w", l.topic, l.pointers[i].Offset, err)
	}
	return ptr, nil
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

func (p *program) listCheckpoints(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	if c.Int("limit") < 1 {
		return usagef("checkpoints list: --limit is 1 or more")
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, patient)
	defer cancel()
	l, err := p.pointers(ctx, c, c.Int("limit"))
	if err != nil {
		return err
	}
	defer l.client.Close()
	listed, err := probe.Restorable(ctx, l.client, l.topic, l.job, l.storage, l.pointers)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(listed)
	}
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"id", "time", "attempt", "lineage", "host", "began with", "size", "restorable", "note"})
	var next *checkpoint.Pointer
	for i, ptr := range listed {
		n := note(ptr.Pointer, next)
		next = ptr.Pointer
		if i == 0 {
			n = strings.TrimSuffix("a start continues from it, "+n, ", ")
		}
		if ptr.Left {
			n = strings.TrimSuffix("left behind, "+n, ", ")
		}
		whole := "yes"
		if !ptr.Restorable {
			whole = "no: " + ptr.Lacks
		}
		if l.storage == "" && whole != "yes" {
			whole = "? " + ptr.Lacks
		}
		t.AppendRow(table.Row{ptr.Checkpoint, stamp(ptr.Time), short(ptr.Attempt), short(ptr.Lineage), ptr.Host, shortRequest(ptr.Request), stateSize(ptr.Pointer), whole, n})
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
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, patient)
	defer cancel()
	l, err := p.pointers(ctx, c, limit)
	if err != nil {
		return err
	}
	defer l.client.Close()
	var newest, oldest int64
	var next *checkpoint.Pointer
	for i := range l.pointers {
		ptr, err := l.decoded(i)
		if err != nil {
			return err
		}
		if i == 0 {
			newest = ptr.Checkpoint
		}
		oldest = ptr.Checkpoint
		if id == 0 || ptr.Checkpoint == id {
			if asJSON {
				return p.printJSON(ptr)
			}
			p.printPointer(ptr, next)
			return nil
		}
		next = ptr
	}
	left, err := l.leftBehind(ctx, id)
	switch {
	case err != nil:
		return err
	case left == nil:
		return fmt.Errorf("checkpoint %d is not in the topic: the newest is %d, the oldest %d", id, newest, oldest)
	case asJSON:
		return p.printJSON(left)
	}
	p.printPointer(left, nil)
	return nil
}

// leftBehind reads the checkpoint that was left behind, nil if it is another one or where the files are is not known.
func (l *logged) leftBehind(ctx context.Context, id int64) (*checkpoint.Pointer, error) {
	newest, err := l.decoded(0)
	if err != nil || newest.Left == nil || newest.Left.Checkpoint != id || l.storage == "" {
		return nil, err
	}
	store, err := checkpoint.OpenStore(ctx, l.storage)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return checkpoint.LoadLeft(ctx, checkpoint.NewFiles(store, nil), newest.Left)
}

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
	shard    int
	pointers []sink.LoggedPointer // at least one, newest first
}

// pointers reads up to max pointers of the job's first shard, newest first.
func (j *connected) pointers(ctx context.Context, limit int) (*logged, error) {
	l := &logged{connected: j, topic: j.options.Topic(j.job)}
	return l, l.read(ctx, limit)
}

// errNoCheckpoints says that there is a topic, and nothing in it.
var errNoCheckpoints = errors.New("has no checkpoints")

func (l *logged) read(ctx context.Context, limit int) error {
	if err := l.there(ctx); err != nil {
		return err
	}
	log, err := sink.NewPointerLog(l.client, sink.LogConfig{Topic: l.topic, Partition: int32(l.shard), Group: l.options.GroupID(l.job)})
	if err != nil {
		return err
	}
	if l.pointers, err = log.List(ctx, limit); err != nil {
		return err
	}
	if len(l.pointers) == 0 {
		return fmt.Errorf("job %s %w: topic %s is empty", l.job, errNoCheckpoints, l.topic)
	}
	return nil
}

// decoded is a pointer as the topic has it, without what is in a file of its own.
func (l *logged) decoded(i int) (*checkpoint.Pointer, error) {
	ptr, err := checkpoint.DecodePointer(l.pointers[i].Value)
	if err != nil {
		return nil, fmt.Errorf("topic %s: offset %d: %w", l.topic, l.pointers[i].Offset, err)
	}
	return ptr, nil
}

func (p *program) listCheckpoints(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	if c.Int("limit") < 1 {
		return usagef("checkpoints list: --limit is 1 or more")
	}
	return p.onJob(c, patient, func(ctx context.Context, j *connected, asJSON bool) error {
		l, err := j.pointers(ctx, c.Int("limit"))
		if err != nil {
			return err
		}
		return p.printCheckpoints(ctx, l, asJSON)
	})
}

func (p *program) printCheckpoints(ctx context.Context, l *logged, asJSON bool) error {
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
		t.AppendRow(table.Row{ptr.Checkpoint, checkpoint.TimeText(ptr.Time), short(ptr.Attempt), short(ptr.Lineage), ptr.Host, shortRequest(ptr.Request), stateSize(ptr.Pointer), whole, n})
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
	return p.onJob(c, patient, func(ctx context.Context, j *connected, asJSON bool) error {
		l, err := j.pointers(ctx, limit)
		if err != nil {
			return err
		}
		return p.printCheckpoint(ctx, l, id, asJSON)
	})
}

func (p *program) printCheckpoint(ctx context.Context, l *logged, id int64, asJSON bool) error {
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

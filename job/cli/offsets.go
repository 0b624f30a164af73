package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/offsets"
	"github.com/weirstream/weir/sink"
)

func (p *program) offsets() *cli.Command {
	return &cli.Command{
		Name:  "offsets",
		Usage: "look at the offsets of a consumer group or a job; set a group's to those of a savepoint",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "show offsets, and how far the log goes on behind them", ArgsUsage: p.jobArg("GROUP|JOB"),
				Description: "For a job the offsets of its last checkpoint stand beside those of its group: the checkpoint's are what it goes on from,\n" +
					"and the group's are there for people. LAG counts offsets, some of which may be no records.",
				Flags:  slices.Concat(p.jobFlags(), nameFlags(), outputFlags()),
				Action: p.showOffsets,
			},
			{
				Name: "reset", Usage: "set a consumer group's offsets to those of a savepoint",
				Description: "Prints what would change; --execute does it. Refuses while the group has active members, and for the group of a Weir\n" +
					"job, which goes on from its checkpoint whatever its group has: run JOB --from SAVEPOINT takes a job back.",
				Flags: slices.Concat(outputFlags(), p.clusterFlags(), []cli.Flag{
					&cli.StringFlag{Name: "to", Usage: "the `SAVEPOINT` whose offsets they are to be"},
					&cli.StringFlag{Name: "group", Usage: "the consumer `GROUP` (default: that of the savepoint's job, which is refused)"},
					&cli.StringFlag{Name: "prefix", Value: "weir", Usage: "the checkpoint.prefix of jobs on this cluster"},
					&cli.StringSliceFlag{Name: "source", Usage: "only the offsets of this `SOURCE` of the savepoint; may be repeated"},
					&cli.BoolFlag{Name: "execute", Usage: "do it", DisableDefaultText: true},
				}),
				Action: p.resetOffsets,
			},
		},
	}
}

// shownOffsets is what show prints as JSON.
type shownOffsets struct {
	Group string `json:"group"`
	// Job and Checkpoint are those of the Weir job whose group it is.
	Job        string           `json:"job,omitempty"`
	Checkpoint int64            `json:"checkpoint,omitempty"`
	Members    []offsets.Member `json:"members"`
	Offsets    []offsets.Row    `json:"offsets"`
}

func (p *program) showOffsets(c *cli.Context) error {
	if p.graph == nil && c.NArg() == 0 {
		return usagef("%s: name a consumer group, or a job: its YAML file or its name", called(c))
	}
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, patient)
	defer cancel()
	j, err := p.connect(ctx, c)
	if err != nil {
		return err
	}
	defer j.client.Close()
	shown, err := j.offsets(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(shown)
	}
	p.printOffsets(shown)
	return nil
}

// offsets are those of the job or group.
func (j *connected) offsets(ctx context.Context) (*shownOffsets, error) {
	at := offsets.NewCluster(j.client)
	out := &shownOffsets{Group: j.options.GroupID(j.job), Members: []offsets.Member{}, Offsets: []offsets.Row{}}
	committed, err := at.Committed(ctx, out.Group)
	if err != nil {
		return nil, err
	}
	topic, _ := offsets.Recognise(committed)
	if topic == "" {
		topic = j.options.Topic(j.job)
	}
	last, err := j.last(ctx, topic)
	if err != nil {
		return nil, err
	}
	names := offsets.TopicsOf(committed)
	if last != nil {
		out.Job, out.Checkpoint = last.Job, last.Checkpoint
		for _, src := range last.Sources {
			for _, s := range src.Splits {
				names = append(names, s.Topic)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	topics, err := at.Topics(ctx, names...)
	if err != nil {
		return nil, err
	}
	members, err := at.Members(ctx, out.Group)
	if err != nil {
		return nil, err
	}
	if len(committed) == 0 && last == nil && len(members) == 0 {
		return nil, fmt.Errorf("group %s has committed no offset and has no members, and no job of that name has a checkpoint here", out.Group)
	}
	out.Members = append(out.Members, members...)
	out.Offsets = append(out.Offsets, offsets.Rows(committed, last, offsets.Logs(topics))...)
	return out, nil
}

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

func (p *program) printOffsets(s *shownOffsets) {
	switch {
	case s.Job != "":
		fmt.Fprintf(p.stdout, "job %s, checkpoint %d; its group %s is a copy for people\n\n", s.Job, s.Checkpoint, s.Group)
	case len(s.Members) == 0:
		fmt.Fprintf(p.stdout, "group %s, no active members\n\n", s.Group)
	default:
		var members []string
		for _, m := range s.Members {
			members = append(members, m.String())
		}
		fmt.Fprintf(p.stdout, "group %s, members: %s\n\n", s.Group, strings.Join(members, ", "))
	}
	t := plainTable(p.stdout)
	header := table.Row{"topic", "partition", "committed", "log start", "log end", "lag"}
	if s.Job != "" {
		header = slices.Insert(header, 2, any("checkpoint"))
	}
	t.AppendHeader(header)
	for _, r := range s.Offsets {
		row := table.Row{r.Topic, r.Partition, dash(r.Committed), dash(r.Start), dash(r.End), dash(r.Lag)}
		if s.Job != "" {
			at := "-"
			if r.Checkpoint != nil {
				at = fmt.Sprint(*r.Checkpoint)
			}
			row = slices.Insert(row, 2, any(at))
		}
		t.AppendRow(row)
	}
	t.Render()
}

// dash shows an offset that is not known, or not there.
func dash(offset int64) string {
	if offset < 0 {
		return "-"
	}
	return fmt.Sprint(offset)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/offsets"
	"github.com/weirstream/weir/internal/savepoint"
)

// resetDone is what reset prints as JSON.
type resetDone struct {
	Group     string           `json:"group"`
	Savepoint string           `json:"savepoint"`
	Executed  bool             `json:"executed"`
	Offsets   []offsets.Change `json:"offsets"`
}

func (p *program) resetOffsets(c *cli.Context) error {
	switch {
	case c.NArg() > 0:
		return usagef("%s: too many arguments: the savepoint is named with --to", called(c))
	case c.String("to") == "":
		return usagef("%s: --to SAVEPOINT is missing", called(c))
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, patient)
	defer cancel()
	s, err := savepoint.Open(ctx, c.String("to"))
	if err != nil {
		return err
	}
	defer s.Close()
	ptr, err := ofSources(s.Pointer(), c.StringSlice("source"))
	if err != nil {
		return usagef("%s: %w", called(c), err)
	}
	done := &resetDone{Group: c.String("group"), Savepoint: s.Manifest.ID, Executed: c.Bool("execute")}
	if done.Group == "" || done.Group == ptr.Job {
		// Whatever cluster is meant: there it is the job's by its name.
		return &offsets.IsJobError{Group: ptr.Job, Job: ptr.Job, Why: "the savepoint is of that job", Savepoint: s.Location}
	}
	config, _, ok, err := p.clusterOf(c)
	if err != nil {
		return err
	}
	if !ok {
		return usagef("%s: --brokers is missing (or KAFKA_BROKERS, or --job)", called(c))
	}
	cl, err := kafka.Dial(ctx, config)
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := plan(ctx, cl, c.String("prefix"), ptr, s.Location, done); err != nil {
		return err
	}
	if asJSON {
		if done.Executed {
			err = offsets.NewCluster(cl).Commit(ctx, done.Group, done.Offsets)
		}
		if err != nil {
			return err
		}
		return p.printJSON(done)
	}
	p.printReset(done)
	if !done.Executed {
		fmt.Fprintln(p.stdout, "\nnothing was done: --execute sets them")
		return nil
	}
	if err := offsets.NewCluster(cl).Commit(ctx, done.Group, done.Offsets); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\ngroup %s has these offsets now\n", done.Group)
	return nil
}

// ofSources leaves only some sources in a pointer.
func ofSources(p *checkpoint.Pointer, names []string) (*checkpoint.Pointer, error) {
	if len(names) == 0 {
		return p, nil
	}
	out := *p
	out.Sources = nil
	var errs []error
	for _, name := range names {
		i := slices.IndexFunc(p.Sources, func(s checkpoint.Source) bool { return s.Name == name })
		if i < 0 {
			errs = append(errs, fmt.Errorf("--source %s: the savepoint has no such source", name))
			continue
		}
		out.Sources = append(out.Sources, p.Sources[i])
	}
	return &out, errors.Join(errs...)
}

// plan refuses what is not to be reset, and fills in what would change.
func plan(ctx context.Context, cl *kgo.Client, prefix string, ptr *checkpoint.Pointer, location string, done *resetDone) error {
	at := offsets.NewCluster(cl)
	committed, err := at.Committed(ctx, done.Group)
	if err != nil {
		return err
	}
	o := checkpoint.Options{Prefix: prefix}
	o.EnsureDefaults()
	own, weir := offsets.Recognise(committed)
	why := "its offsets were committed by one"
	if own != "" {
		why = "it commits for topic " + own
	}
	if !weir {
		_, err := kafka.NewCluster(cl).Topic(ctx, o.Topic(done.Group))
		if err != nil && !errors.Is(err, kafka.ErrNoTopic) {
			return err
		}
		weir, why = err == nil, "there is a topic "+o.Topic(done.Group)
	}
	if weir {
		job := done.Group
		if own != "" {
			job = strings.TrimSuffix(strings.TrimPrefix(own, prefix+"."), ".checkpoints")
		}
		return &offsets.IsJobError{Group: done.Group, Job: job, Why: why, Savepoint: location}
	}
	members, err := at.Members(ctx, done.Group)
	if err != nil {
		return err
	}
	if len(members) > 0 {
		return &offsets.ActiveError{Group: done.Group, Members: members}
	}
	topics, err := at.Topics(ctx, topicNames(ptr.Sources)...)
	if err != nil {
		return err
	}
	done.Offsets, err = offsets.Plan(ptr, committed, topics)
	return err
}

func (p *program) printReset(done *resetDone) {
	fmt.Fprintf(p.stdout, "group %s, to savepoint %s\n\n", done.Group, done.Savepoint)
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"topic", "partition", "before", "after", "log end", "note"})
	for _, ch := range done.Offsets {
		t.AppendRow(table.Row{ch.Topic, ch.Partition, dash(ch.Before), ch.After, ch.End, ch.Note})
	}
	t.Render()
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/offsets"
)

// shownOffsets is what show prints as JSON.
type shownOffsets struct {
	Group string `json:"group"`
	// Job and Checkpoint are those of the Weir job whose group it is.
	Job        string           `json:"job,omitempty"`
	Checkpoint int64            `json:"checkpoint,omitempty"`
	Members    []offsets.Member `json:"members"`
	Offsets    []offsets.Row    `json:"offsets"`
	// Unknown are topics of the checkpoint that are not where they were looked for, or were made again since.
	Unknown []string `json:"unknown_topics,omitempty"`
}

func (p *program) showOffsets(c *cli.Context) error {
	if p.graph == nil && c.NArg() == 0 {
		return usagef("%s: name a consumer group, or a job: its YAML file or its name", called(c))
	}
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	return p.onJob(c, patient, func(ctx context.Context, j *connected, asJSON bool) error {
		elsewhere, err := p.sourceClusters(c)
		if err != nil {
			return err
		}
		shown, err := j.offsets(ctx, elsewhere)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(shown)
		}
		p.printOffsets(shown)
		return nil
	})
}

// offsets are those of the job or group. elsewhere are the clusters of sources that do not read from the job's.
func (j *connected) offsets(ctx context.Context, elsewhere map[string]kafka.Config) (*shownOffsets, error) {
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
	members, err := at.Members(ctx, out.Group)
	if err != nil {
		return nil, err
	}
	if len(committed) == 0 && last == nil && len(members) == 0 {
		return nil, fmt.Errorf("group %s has committed no offset and has no members, and no job of that name has a checkpoint here", out.Group)
	}
	out.Members = append(out.Members, members...)
	if last == nil {
		return out, out.add(ctx, at, "", committed, nil)
	}
	out.Job, out.Checkpoint = last.Job, last.Checkpoint
	groups := byCluster(last.Sources, elsewhere)
	own := *last
	own.Sources = groups[""].sources
	if err := out.add(ctx, at, "", committed, &own); err != nil {
		return nil, err
	}
	delete(groups, "")
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if err := out.addElsewhere(ctx, name, groups[name], last); err != nil {
			return nil, fmt.Errorf("source %s: %w", groups[name].sources[0].Name, err)
		}
	}
	return out, nil
}

// addElsewhere asks another cluster for what its sources read: the job's group has committed there too.
func (s *shownOffsets) addElsewhere(ctx context.Context, name string, g sourceGroup, last *checkpoint.Pointer) error {
	cl, err := kafka.Dial(ctx, g.config)
	if err != nil {
		return err
	}
	defer cl.Close()
	at := offsets.NewCluster(cl)
	committed, err := at.Committed(ctx, s.Group)
	if err != nil {
		return err
	}
	there := *last
	there.Sources = g.sources
	read := topicNames(g.sources)
	maps.DeleteFunc(committed, func(p offsets.Partition, _ offsets.Committed) bool { return !slices.Contains(read, p.Topic) })
	return s.add(ctx, at, name, committed, &there)
}

// idOf is the ID that a topic had.
func idOf(sources []checkpoint.Source, topic string) (id checkpoint.TopicID) {
	for _, src := range sources {
		for _, s := range src.Splits {
			if s.Topic == topic {
				id = s.TopicID
			}
		}
	}
	return id
}

// add adds what a cluster has: what the group has committed there, beside the sources of last that read from it.
func (s *shownOffsets) add(ctx context.Context, at *offsets.Cluster, cluster string, committed map[offsets.Partition]offsets.Committed, last *checkpoint.Pointer) error {
	names := offsets.TopicsOf(committed)
	if last != nil {
		names = append(names, topicNames(last.Sources)...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	topics, err := at.Topics(ctx, names...)
	if err != nil {
		return err
	}
	if last != nil {
		for _, name := range topicNames(last.Sources) {
			if t := topics[name]; t == nil || !t.Same(idOf(last.Sources, name)) {
				topics[name] = nil
				s.Unknown = append(s.Unknown, name)
			}
		}
	}
	rows := offsets.Rows(committed, last, offsets.Logs(topics))
	for i := range rows {
		rows[i].Cluster = cluster
	}
	s.Offsets = append(s.Offsets, rows...)
	return nil
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
	elsewhere := slices.ContainsFunc(s.Offsets, func(r offsets.Row) bool { return r.Cluster != "" })
	if elsewhere {
		header = append(header, "cluster")
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
		if elsewhere {
			row = append(row, cmp.Or(r.Cluster, "the job's"))
		}
		t.AppendRow(row)
	}
	t.Render()
	for _, name := range s.Unknown {
		fmt.Fprintf(p.stdout, "topic %s is not here, or was made again since: if its source reads from another cluster, name the job's file\n", name)
	}
}

// dash shows an offset that is not known, or not there.
func dash(offset int64) string {
	if offset < 0 {
		return "-"
	}
	return fmt.Sprint(offset)
}

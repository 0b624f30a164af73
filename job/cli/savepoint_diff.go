package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/savepoint"
)

func (p *program) savepointDiff() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "compare two savepoints: offsets, watermarks, and entry by entry their state", ArgsUsage: "A B",
		Description: "A and B are directories or URLs. Needs no running job and no Kafka.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "list what is the same, too", DisableDefaultText: true},
			tempDirFlag(),
		}, outputFlags()...),
		Action: p.printDiff,
	}
}

func (p *program) printDiff(c *cli.Context) error {
	if c.NArg() != 2 {
		return usagef("%s: name two savepoints: their directories or URLs", called(c))
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := filesContext(c)
	defer cancel()
	a, err := savepoint.Open(ctx, c.Args().Get(0))
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := savepoint.Open(ctx, c.Args().Get(1))
	if err != nil {
		return err
	}
	defer b.Close()
	d, err := savepoint.Diff(ctx, a, b, c.String("temp-dir"))
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(d)
	}
	p.printDifference(d, c.Bool("all"))
	return nil
}

func (p *program) printDifference(d *savepoint.Difference, all bool) {
	for _, h := range []struct {
		name string
		savepoint.Header
	}{{"A", d.Was}, {"B", d.Is}} {
		fmt.Fprintf(p.stdout, "%s: %s: job %s, checkpoint %d of lineage %s, %s\n", h.name, h.Location, h.Job, h.Checkpoint, short(h.Lineage), checkpoint.TimeText(h.Time))
	}
	if after := time.Duration(d.Is.Time-d.Was.Time) * time.Millisecond; after < 0 {
		fmt.Fprintf(p.stdout, "B is older than A by %s\n", -after)
	}
	for _, n := range d.Notes {
		fmt.Fprintln(p.stdout, "note: "+n)
	}
	hide := func(c savepoint.Change) bool { return c == savepoint.Same && !all }

	splits := plainTable(p.stdout)
	splits.AppendHeader(table.Row{"source", "topic", "partition", "offset in A", "in B", "records", "note"})
	for _, s := range d.Splits {
		if hide(s.Change) {
			continue
		}
		records, note := any(s.Records), ""
		switch {
		case s.OtherTopic:
			records, note = "-", "the topic was deleted and made again"
		case s.Change == savepoint.Added || s.Change == savepoint.Removed:
			records, note = "-", string(s.Change)
		case s.Records < 0:
			note = "B is behind A"
		}
		splits.AppendRow(table.Row{s.Source, s.Topic, s.Partition, orDash(s.Was), orDash(s.Is), records, note})
	}
	p.below(splits)

	watermarks, states, examples := plainTable(p.stdout), plainTable(p.stdout), plainTable(p.stdout)
	watermarks.AppendHeader(table.Row{"operator", "kind", "watermark in A", "in B", "note"})
	states.AppendHeader(table.Row{"state", "entries in A", "in B", "added", "removed", "changed", "note"})
	examples.AppendHeader(table.Row{"state", "change", "key", "namespace", "value in A", "in B"})
	for _, o := range d.Operators {
		if moved := o.Change == savepoint.Added || o.Change == savepoint.Removed || *o.WatermarkWas != *o.WatermarkIs; moved || all {
			watermarks.AppendRow(table.Row{o.Name, o.Kind, watermarkIn(o.WatermarkWas), watermarkIn(o.WatermarkIs), unlessSame(o.Change)})
		}
		for _, s := range o.States {
			if hide(s.Change) {
				continue
			}
			name := o.Name + "/" + s.Name
			row := table.Row{name, s.EntriesWas, s.EntriesIs, s.Added, s.Removed, s.Changed}
			if s.Counted {
				row = table.Row{name, s.EntriesWas, s.EntriesIs, "?", "?", "?"}
			}
			states.AppendRow(append(row, noteOf(s)))
			for _, e := range s.Samples {
				examples.AppendRow(table.Row{name, e.Change, cut(e.Key.String()), cut(e.Namespace), cut(e.Was), cut(e.Is)})
			}
		}
	}
	p.below(watermarks)
	p.below(states)
	p.below(examples)
	if splits.Length()+watermarks.Length()+states.Length() == 0 {
		fmt.Fprintln(p.stdout, "they hold the same")
	}
}

func watermarkIn(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return watermark(*ms)
}

// unlessSame is what became of an operator, where that is not to be seen from its watermarks.
func unlessSame(c savepoint.Change) string {
	if c == savepoint.Added || c == savepoint.Removed {
		return string(c)
	}
	return ""
}

func noteOf(s savepoint.StateChange) string {
	var notes []string
	if n := unlessSame(s.Change); n != "" {
		notes = append(notes, n)
	}
	if s.Declared != "" {
		notes = append(notes, fmt.Sprintf("was %s, is %s of %s", s.Declared, s.Kind, s.Type))
	}
	if s.Schema != "" {
		notes = append(notes, "now "+cut(s.Schema))
	}
	return strings.Join(notes, ", ")
}

package cli

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

func (p *program) savepointValidate() *cli.Command {
	usage := "SAVEPOINT JOB.yaml"
	if p.graph != nil {
		usage = "SAVEPOINT"
	}
	return &cli.Command{
		Name: "validate", Usage: "say what a start from a savepoint would do, before the job that runs is stopped", ArgsUsage: usage,
		Description: "SAVEPOINT is a directory, a URL, or checkpoint:ID. What would be restored, what would be dropped, what does not fit\n" +
			"and why, and what would be read and written again. Nothing is changed, and the job may run. Exit code 8 if it does not fit.",
		Flags:  append(append(append(p.jobFlags(), nameFlags()[0]), restoreFlags()...), outputFlags()...),
		Action: p.printFit,
	}
}

func (p *program) printFit(c *cli.Context) error {
	want := 2
	if p.graph != nil {
		want = 1
	}
	switch n := c.NArg(); {
	case n == 0:
		return usagef("%s: name the savepoint: its directory or URL, or checkpoint:ID", called(c))
	case n < want:
		return usagef("%s: name the job after the savepoint: its YAML file", called(c))
	case n > want:
		return usagef("%s: too many arguments: %s", called(c), strings.Join(c.Args().Slice()[want:], " "))
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	start := job.Start{From: c.Args().First(), Drop: c.StringSlice("drop-state"), OnIncompatible: c.String("on-incompatible")}
	if err := checkStart(called(c), start); err != nil {
		return err
	}
	l, err := p.loadFile(c, c.Args().Get(1))
	if err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	l.options.Start = start
	ctx, cancel := filesContext(c) // every file is read
	defer cancel()
	fit, err := l.graph.CheckSavepoint(ctx, l.options)
	if err != nil {
		return err
	}
	if asJSON {
		if err := p.printJSON(fit); err != nil {
			return err
		}
		return fit.Err()
	}
	p.tellFit(fit)
	return fit.Err()
}

// tellFit shows it to a person.
func (p *program) tellFit(f *job.Fit) {
	of := ""
	if f.Of != f.Job {
		of = fmt.Sprintf(" of another job, %s", f.Of)
	}
	fmt.Fprintf(p.stdout, "savepoint %s: checkpoint %d%s, %s\n", f.Savepoint, f.Checkpoint, of, checkpoint.TimeText(f.Time))
	verdict := "fits job " + f.Job
	if !f.Fits {
		verdict = "does not fit job " + f.Job + ":"
	}
	fmt.Fprintln(p.stdout, verdict)
	for _, finding := range f.Findings {
		fmt.Fprintln(p.stdout, "- "+finding)
	}
	switch {
	case f.CarriedOut && f.Fits && f.Begins != "":
		fmt.Fprintln(p.stdout, "the job has begun from it already: a start with --from goes on from its last checkpoint; what follows is for a start with --again: "+f.Begins)
	case f.CarriedOut:
		fmt.Fprintln(p.stdout, "the job has begun from it already: a start with --from goes on from its last checkpoint, unless it says --again")
	case f.Fits && f.Begins != "":
		fmt.Fprintln(p.stdout, f.Begins)
	}
	for _, what := range f.Dropped {
		fmt.Fprintln(p.stdout, "- "+what)
	}

	if len(f.States) > 0 {
		fmt.Fprintln(p.stdout)
		t := plainTable(p.stdout)
		t.AppendHeader(table.Row{"operator", "state", "kind", "type", "outcome"})
		for _, s := range f.States {
			t.AppendRow(table.Row{s.Operator, s.State, s.Kind, s.Type, outcome(s)})
		}
		t.Render()
	}
	fmt.Fprintln(p.stdout)
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"source", "topic", "partition", "next offset", "log end", "to read", "again", "note"})
	type topicPartition struct {
		topic     string
		partition int32
	}
	gone := map[topicPartition]bool{}
	for _, s := range f.Splits {
		if s.Dropped {
			gone[topicPartition{s.Topic, s.Partition}] = true
		}
	}
	var toRead, again, skipped int64
	for _, s := range f.Splits {
		end, left, note := any("?"), any("?"), ""
		if s.End >= 0 {
			end, left = s.End, max(0, s.End-s.Offset)
			toRead += max(0, s.End-s.Offset)
		}
		switch {
		case s.Dropped:
			note = "not read any more"
		case s.New:
			note = "not in the savepoint"
			switch {
			case s.Again > 0 && gone[topicPartition{s.Topic, s.Partition}]:
				note += ": read before by a source that is gone"
			case s.Again > 0:
				note += ": read since"
			}
		case s.Skipped > 0:
			note = fmt.Sprintf("%d are not read any more", s.Skipped)
		}
		again, skipped = again+s.Again, skipped+s.Skipped
		t.AppendRow(table.Row{s.Source, s.Topic, s.Partition, s.Offset, end, left, s.Again, note})
	}
	t.Render()
	fmt.Fprintln(p.stdout)
	switch last := f.Last; {
	case last == nil:
		fmt.Fprintf(p.stdout, "the job has no checkpoint: %s offsets would be read, up to the end of the input", count(toRead))
		if again > 0 {
			fmt.Fprintf(p.stdout, "; %s of them were read before the savepoint by a source that is gone", count(again))
		}
		fmt.Fprintln(p.stdout)
	default:
		fmt.Fprintf(p.stdout, "the job's last checkpoint is %d (%s): of what it has read, %s offsets would be read again", last.Checkpoint, checkpoint.TimeText(last.Time), count(again))
		if skipped > 0 {
			fmt.Fprintf(p.stdout, ", and %s that it has not read would be skipped", count(skipped))
		}
		fmt.Fprintln(p.stdout)
		if last.Same && last.Since == 0 && again == 0 {
			fmt.Fprintln(p.stdout, "nothing was committed after the savepoint, so nothing is written a second time")
			return
		}
	}
	for _, o := range f.Output {
		if o.Offsets == 0 {
			fmt.Fprintf(p.stdout, "topic %s: no record stamped since the savepoint\n", o.Topic)
			continue
		}
		fmt.Fprintf(p.stdout, "topic %s: %s offsets (markers of transactions included) from the first record stamped since the savepoint: what comes of records that are read again would be written again\n",
			o.Topic, count(o.Offsets))
	}
}

// outcome is what becomes of a state, with what of it is new and what goes.
func outcome(s runtime.FitState) string {
	var parts []string
	if len(s.New) > 0 {
		parts = append(parts, "new, begin empty: "+strings.Join(s.New, ", "))
	}
	if len(s.Gone) > 0 {
		parts = append(parts, "gone: "+strings.Join(s.Gone, ", "))
	}
	if len(parts) == 0 {
		return s.Outcome.String()
	}
	return s.Outcome.String() + " (" + strings.Join(parts, "; ") + ")"
}

// count is a number that is easy to read.
func count(n int64) string { return humanize.Comma(n) }

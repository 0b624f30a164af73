package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/doctor/probe"
)

func (p *program) doctor() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "look for what would keep a job from running, or hurt it later: brokers, topics, permissions, storage, machine",
		ArgsUsage: p.jobArg("FILE"),
		Description: "Changes nothing but a file of its own in the checkpoint storage, which it removes, and does not disturb a job that\n" +
			"runs. Run it where the job runs: in the same container, as the same user. Exits with 0 if no finding is an error.",
		Flags: append(slices.Concat(p.jobFlags(), addressFlags("as for run"), outputFlags()),
			&cli.BoolFlag{Name: "deep", Usage: "read every file of the last checkpoint and compare it with its hash", DisableDefaultText: true},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Second, Usage: "how long each check may take"}),
		Action: p.runDoctor,
	}
}

// sickError says that doctor found errors, which it has printed.
type sickError struct{ errors int }

func (e *sickError) Error() string {
	return english.Plural(e.errors, "finding", "") + map[bool]string{true: " is an error", false: " are errors"}[e.errors == 1]
}

func (p *program) runDoctor(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	if c.Duration("timeout") <= 0 {
		return usagef("doctor: --timeout is more than 0")
	}
	l, err := p.load(c)
	if err != nil {
		return err
	}
	override(c, &l.options.HTTP)
	config, err := l.config()
	if err != nil {
		return err
	}
	report := probe.Examine(c.Context, config, probe.Options{Timeout: c.Duration("timeout"), Deep: c.Bool("deep"), HTTP: l.options.HTTP})
	if asJSON {
		err = p.printJSON(report)
	} else {
		p.printReport(report)
	}
	if n := report.Count(doctor.Error); err == nil && n > 0 {
		err = &sickError{n}
	}
	return err
}

// width is how wide the findings may be.
const width = 88

func (p *program) printReport(r doctor.Report) {
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"", "check", "subject", "finding"})
	for _, f := range r.Findings {
		finding := text.WrapSoft(f.Text, width)
		if f.Remedy != "" {
			finding += "\n" + indented("-> ", text.WrapSoft(f.Remedy, width-3))
		}
		t.AppendRow(table.Row{f.Severity.String(), f.Check, f.Subject, finding})
	}
	t.Render()
	var counts []string
	for _, s := range []doctor.Severity{doctor.Error, doctor.Warning, doctor.Note} {
		if n := r.Count(s); n > 0 {
			counts = append(counts, english.Plural(n, s.String(), ""))
		}
	}
	if len(counts) == 0 {
		counts = []string{"nothing to complain of"}
	}
	fmt.Fprintf(p.stdout, "\njob %s: %s\n", r.Job, strings.Join(counts, ", "))
}

// indented puts a mark before the first line of a text and as much room before the others.
func indented(mark, lines string) string {
	return mark + strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", len(mark)))
}

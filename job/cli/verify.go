package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/verify"
	"github.com/weirstream/weir/job"
)

func (p *program) verify() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "compute a job once more with a plain loop, and compare with what a read_committed reader sees",
		ArgsUsage: p.jobArg("JOB.yaml"),
		Description: "Reads the input up to the last checkpoint, and the output; says which results are lost, doubled or different.\n" +
			"The job may run meanwhile. Exit code 14: the output differs; 15: it cannot be told. See docs/verify.md.",
		Flags: append(append(p.jobFlags(), outputFlags()...),
			&cli.StringFlag{Name: "from", Usage: "begin from a `SAVEPOINT` of the job, with its state, instead of where the job began"},
			&cli.BoolFlag{Name: "log-start", Usage: "the job began where the topics of its input begin now", DisableDefaultText: true},
			&cli.StringSliceFlag{Name: "output-from", Usage: "compare a partition of the output from an offset on: `TOPIC:PARTITION=OFFSET`; may be repeated"},
			&cli.BoolFlag{Name: "last", Usage: "compare only the last value of each key, for results that depend on how partitions interleave", DisableDefaultText: true},
			&cli.StringSliceFlag{Name: "trust", Usage: "an `OPERATOR` whose results depend on the input alone, though it cannot be seen; may be repeated"},
			&cli.StringFlag{Name: "temp-dir", Usage: "where temporary files are made (default: the system's directory)"},
			&cli.IntFlag{Name: "examples", Value: 10, Usage: "how many findings of each kind are printed"},
		),
		Action: p.verifyJob,
	}
}

func (p *program) verifyJob(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	from, err := outputFrom(c.StringSlice("output-from"))
	if err != nil {
		return err
	}
	if c.Int("examples") < 1 {
		return usagef("verify: --examples is 1 or more")
	}
	l, err := p.load(c)
	if err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := p.compute(ctx, l, job.VerifyOptions{
		From: c.String("from"), LogStart: c.Bool("log-start"), OutputFrom: from, Last: c.Bool("last"), Trust: c.StringSlice("trust"),
		TempDir: c.String("temp-dir"), Examples: c.Int("examples"),
	})
	if err != nil {
		return err
	}
	if asJSON {
		if err := p.printJSON(report); err != nil {
			return err
		}
	} else {
		p.printVerified(report)
	}
	return report.Err()
}

// compute verifies, with a bar on a terminal.
func (p *program) compute(ctx context.Context, l *loaded, v job.VerifyOptions) (*job.VerifyReport, error) {
	bar := newBar(p.stderr)
	defer bar.stop()
	v.Progress = bar.show
	return job.Verify(ctx, l.graph, l.options, v)
}

// outputFrom reads TOPIC:PARTITION=OFFSET.
func outputFrom(args []string) (map[string]map[int32]int64, error) {
	from := map[string]map[int32]int64{}
	for _, arg := range args {
		where, offset, found := strings.Cut(arg, "=")
		at := strings.LastIndexByte(where, ':')
		n, err := strconv.ParseInt(offset, 10, 64)
		if !found || at < 1 || err != nil || n < 0 {
			return nil, usagef("verify: --output-from: want TOPIC:PARTITION=OFFSET, got %q", arg)
		}
		partition, err := strconv.ParseInt(where[at+1:], 10, 32)
		if err != nil || partition < 0 {
			return nil, usagef("verify: --output-from: want TOPIC:PARTITION=OFFSET, got %q", arg)
		}
		topic := where[:at]
		if from[topic] == nil {
			from[topic] = map[int32]int64{}
		}
		from[topic][int32(partition)] = n
	}
	return from, nil
}

func (p *program) printVerified(r *job.VerifyReport) {
	until := ""
	if r.Until > r.Checkpoint {
		until = fmt.Sprintf(" (and what had come of the %s after it)", english.Plural(int(r.Until-r.Checkpoint), "checkpoint", ""))
	}
	fmt.Fprintf(p.stdout, "job %s, lineage %s, up to checkpoint %d%s: %s of the input", r.Job, short(r.Lineage), r.Checkpoint, until, english.Plural(int(r.Records), "record", ""))
	if r.BadRecords > 0 {
		fmt.Fprintf(p.stdout, ", %d of them bad", r.BadRecords)
	}
	if r.From != "" {
		fmt.Fprintf(p.stdout, ", from savepoint %s", r.From)
	}
	fmt.Fprintln(p.stdout)
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"topic", "expected", "seen", "equal", "lost", "doubled", "different", "made up", "out of order", "undecided", "not judged"})
	for _, o := range r.Outputs {
		t.AppendRow(table.Row{o.Topic, o.Expected, o.Seen, o.Equal, o.Findings["lost"], o.Findings["doubled"], o.Findings["different"],
			o.Findings[verify.MadeUp], o.Findings[verify.OutOfOrder], o.Undecided, o.Before + o.Gone + o.Pending})
	}
	t.Render()
	for _, f := range r.Examples {
		fmt.Fprintln(p.stdout, f)
	}
	for _, d := range r.Doubts {
		fmt.Fprintf(p.stdout, "undecided: operator %s: %s, such as %q: %s\n", d.Operator, english.Plural(int(d.Keys), "key", ""), d.Key, d.Reason)
		for _, f := range d.Examples {
			fmt.Fprintln(p.stdout, "  "+f.String())
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintln(p.stdout, "note: "+n)
	}
}

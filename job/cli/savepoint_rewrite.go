package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/savepoint"
)

func (p *program) savepointRewrite() *cli.Command {
	return &cli.Command{
		Name:      "rewrite",
		Usage:     "make a new savepoint of another one: move offsets, drop state, rename steps; says what will be read again or skipped",
		ArgsUsage: "SAVEPOINT",
		Description: "The savepoint itself is not changed. The new one has an ID of its own, and all the files that it needs.\n\n" +
			"--set-offset takes TOPIC/PARTITION=OFFSET, TOPIC=earliest, TOPIC=latest, TOPIC=timestamp:2026-11-30T10:00:00Z, each for\n" +
			"one partition or for all, and with SOURCE: in front for one source only. All but a plain offset need brokers. With brokers\n" +
			"offsets outside of the log are refused, and what is read again is counted in the log.\n\n" +
			"Watermarks stay where state is kept: records that are read again and are before them are late. Where no state is left,\n" +
			"event time begins anew.",
		Flags: slices.Concat(outputFlags(), p.clusterFlags(), []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "the `DIRECTORY` (or URL) to make"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would change, and write nothing, also with --to", DisableDefaultText: true},
			&cli.StringSliceFlag{Name: "set-offset", Usage: "`TOPIC/PARTITION=OFFSET`, the next to read; may be repeated"},
			&cli.StringSliceFlag{Name: "drop-state", Usage: "drop the state of an `OPERATOR`, or one of its states: OPERATOR/STATE, or the offsets of a SOURCE, or of one of its topics: SOURCE/TOPIC; may be repeated"},
			&cli.StringSliceFlag{Name: "rename", Usage: "give an operator, source or sink another name: `OLD=NEW`; may be repeated"},
			&cli.StringSliceFlag{Name: "accept-keys", Usage: "the keys of an `OPERATOR` are what they were, although the text of its key_by is another one; may be repeated"},
			&cli.BoolFlag{Name: "reset-watermarks", Usage: "let event time begin anew", DisableDefaultText: true},
			&cli.BoolFlag{Name: "force", Usage: "also set offsets outside of the log", DisableDefaultText: true},
		}),
		Action: p.rewriteSavepoint,
	}
}

func (p *program) rewriteSavepoint(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef("%s: name one savepoint", called(c))
	}
	to := c.String("to")
	if to == "" && !c.Bool("dry-run") {
		return usagef("%s: give --to DIRECTORY, or --dry-run", called(c))
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	o, err := p.edits(c)
	if err != nil {
		return p.mistakes(c, err)
	}
	clusters, closeAll, err := p.sourceLogs(c, o.Rename)
	if err != nil {
		return err
	}
	defer closeAll()
	o.Clusters = clusters
	ctx, cancel := filesContext(c)
	defer cancel()
	s, err := savepoint.Open(ctx, c.Args().First())
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Plan(ctx, o)
	if as[*savepoint.EditError](err) {
		return p.mistakes(c, err)
	}
	if err != nil {
		return err
	}
	var written *savepoint.Copied
	if !c.Bool("dry-run") {
		if written, err = r.Write(ctx, to); err != nil {
			return err
		}
	}
	if asJSON {
		return p.printJSON(struct {
			*savepoint.Rewriting
			Written *savepoint.Copied `json:"written,omitempty"`
		}{r, written})
	}
	p.printEffects(r.Effects)
	if written == nil {
		fmt.Fprintln(p.stdout, "\nnothing was written: --to DIRECTORY without --dry-run makes the savepoint")
		return nil
	}
	fmt.Fprintln(p.stdout)
	p.printCopied("written", written)
	return nil
}

// mistakes puts each of several mistakes on a line of its own.
func (p *program) mistakes(c *cli.Context, err error) error {
	begin := p.name + ": " + called(c) + ": " // an invalid has no name of the program in front
	return &invalid{errors.New(begin + strings.ReplaceAll(err.Error(), "\n", "\n"+begin))}
}

// edits reads the flags, and reports every mistake in them.
func (p *program) edits(c *cli.Context) (savepoint.RewriteOptions, error) {
	o := savepoint.RewriteOptions{DropState: c.StringSlice("drop-state"), AcceptKeys: c.StringSlice("accept-keys"), ResetWatermarks: c.Bool("reset-watermarks"), Force: c.Bool("force"), Rename: map[string]string{}}
	var errs []error
	for _, text := range c.StringSlice("set-offset") {
		e, err := savepoint.ParseOffset(text)
		if err != nil {
			errs = append(errs, err)
		}
		o.Offsets = append(o.Offsets, e)
	}
	for _, text := range strings.Split(strings.Join(c.StringSlice("rename"), ","), ",") {
		if text == "" && !c.IsSet("rename") {
			continue
		}
		old, name, ok := strings.Cut(text, "=")
		switch {
		case !ok || old == "" || name == "":
			errs = append(errs, fmt.Errorf("rename %s: want OLD=NEW", text))
		case o.Rename[old] != "" && o.Rename[old] != name:
			errs = append(errs, fmt.Errorf("rename %s: %s is to be %s already", text, old, o.Rename[old]))
		}
		o.Rename[old] = name
	}
	if len(o.Offsets)+len(o.DropState)+len(o.Rename)+len(o.AcceptKeys) == 0 && !o.ResetWatermarks {
		errs = append(errs, errors.New("there is nothing to change: give --set-offset, --drop-state, --rename or --reset-watermarks"))
	}
	return o, errors.Join(errs...)
}

func (p *program) printEffects(effects []checkpoint.Effect) {
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"source", "topic", "partition", "offset", "new offset", "log", "read again", "skipped"})
	for _, e := range effects {
		m := e.Split
		if m == nil {
			continue
		}
		row := table.Row{m.Source, m.Topic, m.Partition, m.From, m.To, "?", "", ""}
		if m.Log != nil {
			row[5] = fmt.Sprintf("%d to %d", m.Log.Start, m.Log.End)
		}
		switch e.Kind {
		case checkpoint.EffectReadAgain:
			row[6] = m.Records
		case checkpoint.EffectSkip:
			row[7] = m.Records
		}
		t.AppendRow(row)
	}
	if t.Length() > 0 {
		t.Render()
	}
	for _, e := range effects {
		if e.Split == nil {
			fmt.Fprintln(p.stdout, e.Text)
		}
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/savepoint"
)

func (p *program) savepointShow() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "keys", Usage: "list entries of one state instead: `OPERATOR/STATE`"},
		&cli.StringFlag{Name: "key", Usage: "with --keys: the entries of one `KEY` only; one that is shown in quotes may be given in them"},
		&cli.IntFlag{Name: "limit", Value: 20, Usage: "with --keys: how many entries at most"},
		&cli.StringFlag{Name: "brokers", Usage: "ask this cluster how many records lie behind each offset: `HOST:PORT`, several with commas between"},
		tempDirFlag(),
	}
	if p.graph == nil {
		flags = append(flags, &cli.StringFlag{Name: "job", Usage: "ask the brokers that `JOB.yaml` names; --brokers wins over its own"})
	}
	return &cli.Command{
		Name: "show", Usage: "look inside a savepoint: offsets, operators, states, largest keys", ArgsUsage: "SAVEPOINT",
		Description: "SAVEPOINT is a directory or a URL. Needs no running job, and no Kafka unless --brokers or --job ask for it. The state is\n" +
			"copied to a temporary directory, and every file is compared with its hash on the way.",
		Flags:  append(flags, outputFlags()...),
		Action: p.printSavepoint,
	}
}

func tempDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "temp-dir", Usage: "where temporary files are made (default: the system's directory)"}
}

func (p *program) printSavepoint(c *cli.Context) error {
	switch {
	case c.NArg() != 1:
		return usagef("%s: name one savepoint: its directory or URL", called(c))
	case c.Int("limit") < 1:
		return usagef("%s: --limit is 1 or more", called(c))
	case c.String("keys") == "" && (c.IsSet("key") || c.IsSet("limit")):
		return usagef("%s: --key and --limit go with --keys OPERATOR/STATE", called(c))
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := filesContext(c)
	defer cancel()
	s, err := savepoint.Open(ctx, c.Args().First())
	if err != nil {
		return err
	}
	defer s.Close()
	if c.String("keys") != "" {
		return p.printKeys(ctx, c, s, asJSON)
	}
	// Asked first: a broker that does not answer should not take the time that the state takes.
	behind, err := p.behind(ctx, c, s.Pointer())
	if err != nil {
		return err
	}
	r, err := savepoint.Inspect(ctx, s, c.String("temp-dir"))
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(struct {
			*savepoint.Report
			Behind []splitBehind `json:"behind,omitempty"`
		}{r, behind})
	}
	p.printContents(r, behind)
	return nil
}

func (p *program) printContents(r *savepoint.Report, behind []splitBehind) {
	fmt.Fprintf(p.stdout, "savepoint %s of job %s, %s\n", r.Location, r.Job, checkpoint.TimeText(r.Time))
	fmt.Fprintf(p.stdout, "checkpoint %d of lineage %s, which began with %s", r.Checkpoint, r.Lineage, r.Request)
	if r.From != "" {
		fmt.Fprintf(p.stdout, " (%s)", r.From)
	}
	fmt.Fprintf(p.stdout, "\nattempt %s on host %s\n", r.Attempt, r.Host)
	fmt.Fprintf(p.stdout, "%d key groups, %s of %s", r.KeyGroups, english.Plural(len(r.Files), "file", ""), humanize.IBytes(uint64(r.Bytes)))
	if len(r.Dropped) > 0 {
		fmt.Fprintf(p.stdout, ", without what %s had", english.Plural(len(r.Dropped), "dropped state", ""))
	}
	fmt.Fprintln(p.stdout)

	p.printSplits(r.Sources, behind)

	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"operator", "kind", "watermark", "state", "what", "entries", "keys", "bytes", "key groups"})
	for _, o := range r.Operators {
		if len(o.States) == 0 {
			t.AppendRow(table.Row{o.Name, o.Kind, watermark(o.Watermark), "-"})
		}
		for _, s := range o.States {
			t.AppendRow(table.Row{o.Name, o.Kind, watermark(o.Watermark), s.Name, what(s.State), s.Entries, s.Keys, humanize.IBytes(uint64(s.Bytes)), s.KeyGroups})
		}
	}
	p.below(t)

	t = plainTable(p.stdout)
	t.AppendHeader(table.Row{"state", "largest keys", "entries", "bytes"})
	for _, o := range r.Operators {
		for _, s := range o.States {
			for _, k := range s.Largest {
				t.AppendRow(table.Row{o.Name + "/" + s.Name, cut(k.Key.String()), k.Entries, humanize.IBytes(uint64(k.Bytes))})
			}
		}
	}
	p.below(t)

	t = plainTable(p.stdout)
	t.AppendHeader(table.Row{"file", "size"})
	for _, f := range r.Files {
		t.AppendRow(table.Row{f.Name, humanize.IBytes(uint64(f.Size))})
	}
	p.below(t)
}

// below prints a table that has any rows, after an empty line.
func (p *program) below(t table.Writer) {
	if t.Length() > 0 {
		fmt.Fprintln(p.stdout)
		t.Render()
	}
}

func (p *program) printSplits(sources []checkpoint.Source, behind []splitBehind) {
	t := plainTable(p.stdout)
	header := table.Row{"source", "topic", "partition", "next offset", "ends before"}
	if behind != nil {
		header = append(header, "end of log", "behind it", "note")
	}
	t.AppendHeader(header)
	at := 0
	for _, src := range sources {
		for _, s := range src.Splits {
			row := table.Row{src.Name, s.Topic, s.Partition, s.Offset, "-"}
			if s.Stop >= 0 {
				row[4] = s.Stop
			}
			if behind != nil {
				b := behind[at]
				row = append(row, orDash(b.End), orDash(b.Records), b.Note)
			}
			t.AppendRow(row)
			at++
		}
	}
	p.below(t)
}

func orDash(n *int64) any {
	if n == nil {
		return "-"
	}
	return *n
}

// what says what a state is: value of cbor:int64.
func what(s checkpoint.State) string {
	if s.Kind == "timers" || s.Kind == "map" {
		return s.Type
	}
	return s.Kind + " of " + s.Type
}

// widest is how much of a key or value a table shows, in characters.
const widest = 120

func cut(s string) string {
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-1]) + "…"
	}
	return s
}

// printKeys lists entries of a state.
func (p *program) printKeys(ctx context.Context, c *cli.Context, s *savepoint.Savepoint, asJSON bool) error {
	var key *savepoint.Key
	if c.IsSet("key") {
		k, err := savepoint.ParseKey(c.String("key"))
		if err != nil {
			return usagef("%s: --key: %w", called(c), err)
		}
		key = &k
	}
	l, err := savepoint.Keys(ctx, s, c.String("temp-dir"), c.String("keys"), key, c.Int("limit"))
	if unknown := (*savepoint.NoStateError)(nil); errors.As(err, &unknown) {
		return usagef("%s: --keys: %w", called(c), err)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(l)
	}
	if len(l.Entries) == 0 {
		of := ""
		if key != nil {
			of = " of key " + key.String()
		}
		fmt.Fprintf(p.stdout, "state %s/%s has no entries%s\n", l.Operator, l.Name, of)
		return nil
	}
	t := plainTable(p.stdout)
	header := table.Row{"key group", "key"}
	space := map[string]string{"window": "window", "list": "index", "map": "map key", "timers": "due"}[l.Kind]
	if space == "" && l.Entries[0].Namespace != "" {
		space = "namespace"
	}
	if space != "" {
		header = append(header, space)
	}
	if l.Kind != "timers" {
		header = append(header, "value")
	}
	t.AppendHeader(header)
	for _, e := range l.Entries {
		row := table.Row{e.Group, cut(e.Key.String())}
		if space != "" {
			row = append(row, cut(e.Namespace))
		}
		if l.Kind != "timers" {
			row = append(row, cut(e.Value))
		}
		t.AppendRow(row)
	}
	t.Render()
	if l.More {
		fmt.Fprintf(p.stdout, "there are more: --limit is %d\n", c.Int("limit"))
	}
	return nil
}

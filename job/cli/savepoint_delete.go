package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/savepoint"
)

func (p *program) savepointDelete() *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "delete a savepoint, and nothing else",
		ArgsUsage: "SAVEPOINT",
		Description: "Deletes the manifest first, then the files that it lists. A directory that holds anything else is refused. A deletion\n" +
			"that was interrupted is completed by the same command.",
		Flags:  append(outputFlags(), &cli.BoolFlag{Name: "yes", Usage: "do not ask", DisableDefaultText: true}),
		Action: p.deleteSavepoint,
	}
}

func (p *program) deleteSavepoint(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef("%s: name one savepoint", called(c))
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, filesTimeout)
	defer cancel()
	d, err := savepoint.PlanDelete(ctx, c.Args().First())
	if err != nil {
		return err
	}
	defer d.Close()
	what := fmt.Sprintf("savepoint %s: checkpoint %d of job %s, %s, %s, %s", d.Location, d.Checkpoint, d.Job, checkpoint.TimeText(d.Time),
		english.Plural(d.Files, "file", ""), humanize.IBytes(uint64(d.Size)))
	if !c.Bool("yes") {
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return usagef("%s: nothing was deleted: there is no terminal to ask on: --yes deletes %s", called(c), what)
		}
		fmt.Fprintf(p.stderr, "delete %s? [y/N] ", what)
		answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // nothing is no
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			fmt.Fprintln(p.stdout, "nothing was deleted")
			return nil
		}
	}
	if err := d.Do(ctx); err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(struct {
			Deleted *savepoint.Listed `json:"deleted"`
		}{d.Listed})
	}
	fmt.Fprintln(p.stdout, "deleted "+what)
	return nil
}

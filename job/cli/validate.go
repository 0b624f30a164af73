package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func (p *program) validate() *cli.Command {
	return &cli.Command{
		Name:        "validate",
		Usage:       "check a job without running it: every mistake, one a line",
		ArgsUsage:   p.jobArg("FILE"),
		Description: "Touches nothing but the file: no broker is asked.",
		Flags:       append(p.jobFlags(), addressFlags("as for run")...),
		Action: func(c *cli.Context) error {
			if err := p.wantJob(c, 0); err != nil {
				return err
			}
			l, err := p.load(c)
			if err != nil {
				return err
			}
			override(c, &l.options.HTTP)
			if err := l.check(); err != nil {
				return err
			}
			if p.graph == nil {
				fmt.Fprintf(p.stdout, "%s: ok\n", c.Args().First())
			} else {
				fmt.Fprintf(p.stdout, "job %s: ok\n", p.graph.Name())
			}
			return nil
		},
	}
}

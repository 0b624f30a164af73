package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"
)

func (p *program) health() *cli.Command {
	return &cli.Command{
		Name:      "health",
		Usage:     "ask a job on this machine whether it is healthy: for HEALTHCHECK in a container",
		ArgsUsage: p.jobArg("[JOB]"),
		Description: "Exits with 0 if the job answers at its HTTP address and makes progress, else with 1. The address is that of\n" +
			"JOB (a file), --address, WEIR_ADDRESS, or the default.",
		Flags: append(addressFlags("the job's `HOST:PORT`"), p.jobFlags()...),
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 || p.graph != nil && c.Args().Present() {
				return usagef("health: too many arguments")
			}
			client, name, err := p.client(c)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context, answerWithin/2)
			defer cancel()
			if name != "" {
				if _, err := p.ask(ctx, client, name); err != nil {
					return &unhealthy{err}
				}
			}
			if err := client.Health(ctx); err != nil {
				return &unhealthy{err}
			}
			fmt.Fprintln(p.stdout, "healthy")
			return nil
		},
	}
}

// unhealthy is the answer no. It hides what is below, since a health check knows 0 and 1 only.
type unhealthy struct{ err error }

func (e *unhealthy) Error() string { return "unhealthy: " + e.err.Error() }

package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"
)

func (p *program) stop() *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "ask a running job for a last checkpoint, after which it ends",
		ArgsUsage: p.jobArg("JOB"),
		Flags:     append(addressFlags("the job's `HOST:PORT`"), p.jobFlags()...),
		Action: func(c *cli.Context) error {
			if err := p.wantJob(c, 0); err != nil {
				return err
			}
			client, name, err := p.client(c)
			if err != nil {
				return err
			}
			st, err := p.ask(c.Context, client, name)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context, answerWithin)
			defer cancel()
			if err := client.Stop(ctx); err != nil {
				return fmt.Errorf("stop of job %s: %w", st.Job, tokenError(err, client.Token != ""))
			}
			fmt.Fprintf(p.stdout, "job %s is stopping\n", st.Job)
			return nil
		},
	}
}

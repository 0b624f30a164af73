package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
)

func (p *program) savepoint() *cli.Command {
	create := &cli.Command{
		Name:      "create",
		Usage:     "copy a running job's state and offsets to a directory that only you delete",
		ArgsUsage: p.jobArg("JOB"),
		Description: "JOB is a file or a job's name; the job is asked through its HTTP address. Continue from the savepoint with\n" +
			"run JOB --from DIRECTORY.",
		Flags: append(append(addressFlags("the job's `HOST:PORT`"),
			&cli.StringFlag{Name: "dir", Usage: "the `DIRECTORY` (or URL) to make; by default savepoints/JOB-TIME below the working directory"},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Minute, Usage: "how long it may take"}), p.jobFlags()...),
		Action: p.createSavepoint,
	}
	return &cli.Command{
		Name: "savepoint", Usage: "take savepoints of a running job; look into them, copy, change and delete them",
		Subcommands: []*cli.Command{
			create, p.savepointShow(), p.savepointDiff(), p.savepointValidate(), p.savepointList(), p.savepointCopy(), p.savepointDelete(), p.savepointRewrite(),
		},
	}
}

// filesTimeout bounds what a command does to the files of a savepoint, whatever their size.
const filesTimeout = 12 * time.Hour

// filesContext is that of a command that copies such files, to a temporary directory too. A signal ends it, so that what is
// in that directory goes.
func filesContext(c *cli.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, filesTimeout)
	return ctx, func() {
		cancel()
		stop()
	}
}

// newSavepoint is where a savepoint goes that is given no directory.
func newSavepoint(job string) string {
	return filepath.Join("savepoints", job+"-"+time.Now().UTC().Format("20060102-150405"))
}

func (p *program) createSavepoint(c *cli.Context) error {
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
	dir := c.String("dir")
	if dir == "" {
		dir = newSavepoint(st.Job)
	}
	if dir, err = absolute(dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	if err := client.Savepoint(ctx, dir); err != nil {
		return fmt.Errorf("savepoint of job %s: %w", st.Job, tokenError(err, client.Token != ""))
	}
	fmt.Fprintln(p.stdout, dir)
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/web"
)

// stopped is what came of a stop, for programs.
type stopped struct {
	Job string `json:"job"`
	runtime.StopStatus
}

func (p *program) stop() *cli.Command {
	savepoint := &optional{}
	return &cli.Command{
		Name:      "stop",
		Usage:     "stop a running job with a last checkpoint, and wait until it has ended",
		ArgsUsage: p.jobArg("JOB"),
		Description: "The outcome is one of two, whatever fails: the job runs, and the line says why (exit code 1), or it is stopped, with\n" +
			"its savepoint if one was asked for. To repeat the command is harmless: it joins what is under way. If nobody answers at\n" +
			"the job's address, its last checkpoint tells how it ended: for that JOB is a file, or --brokers says where it is.",
		Flags: slices.Concat([]cli.Flag{
			optionally("savepoint", "DIRECTORY", savepoint, "the last checkpoint becomes a savepoint; if it cannot be written, the job goes on. By default savepoints/JOB-TIME below the working directory"),
			&cli.BoolFlag{Name: "drain", Usage: "end the input here: every window and event-time timer fires now, and the job cannot be continued from there", DisableDefaultText: true},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Minute, Usage: "how long to wait"},
		}, addressFlags("the job's `HOST:PORT`"), p.jobFlags(), nameFlags(), outputFlags()),
		Action: func(c *cli.Context) error { return p.stopJob(c, savepoint) },
	}
}

func (p *program) stopJob(c *cli.Context, savepoint *optional) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	client, name, err := p.client(c)
	if err != nil {
		return err
	}
	ask := runtime.StopRequest{ID: uuid.NewString(), Savepoint: savepoint.value, Drain: c.Bool("drain")}
	if ask.Savepoint, err = absolute(ask.Savepoint); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	st, err := p.ask(ctx, client, name)
	if as[*web.ConnectError](err) {
		return p.ended(c, ask, savepoint.set, asJSON, err)
	}
	if err != nil {
		return err
	}
	if savepoint.set && ask.Savepoint == "" {
		ask.Savepoint = newSavepoint(st.Job)
		if s := st.Stop; s != nil && s.Phase == runtime.StopUnderWay && s.Savepoint != "" {
			ask.Savepoint = s.Savepoint // any will do
		}
		if ask.Savepoint, err = absolute(ask.Savepoint); err != nil {
			return err
		}
	}
	status, err := client.Stop(ctx, ask)
	for asked := status.ID; err == nil && status.Phase == runtime.StopUnderWay; {
		var now *runtime.StopStatus
		if now, err = client.StopStatus(ctx, 10*time.Second); err != nil {
			break
		}
		if now == nil || now.ID != asked {
			status.Phase, status.Error = runtime.StopFailed, "the process that was asked has ended before it had stopped, and another one runs the job"
			break
		}
		status = *now
	}
	var refused *web.RefusedError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("job %s is not stopped yet after %s: the same command again goes on waiting", st.Job, c.Duration("timeout"))
	case as[*web.ConnectError](err):
		return p.ended(c, ask, savepoint.set, asJSON, err)
	case errors.As(err, &refused) && refused.Code == http.StatusConflict:
		status = runtime.StopStatus{ID: ask.ID, Phase: runtime.StopFailed, Savepoint: ask.Savepoint, Drain: ask.Drain, Error: refused.Reason}
	case err != nil:
		return fmt.Errorf("stop of job %s: %w", st.Job, tokenError(err, client.Token != ""))
	}
	if status.Phase == runtime.StopDone {
		awaitEnd(ctx, client)
	}
	return p.sayStopped(stopped{st.Job, status}, asJSON)
}

// absolute makes a directory that a job and this command agree about: they may run in different ones.
func absolute(dir string) (string, error) {
	if dir == "" || checkpoint.IsURL(dir) {
		return dir, nil
	}
	return filepath.Abs(dir)
}

// awaitEnd waits until nobody answers any more, so that the next start finds the address free.
func awaitEnd(ctx context.Context, client *web.Client) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := client.Health(ctx); as[*web.ConnectError](err) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sayStopped prints an outcome. What was not done is the error.
func (p *program) sayStopped(s stopped, asJSON bool) error {
	line := s.line()
	if asJSON {
		if err := p.printJSON(s); err != nil {
			return err
		}
	} else if s.Error == "" {
		fmt.Fprintln(p.stdout, line)
	}
	if s.Error != "" {
		return fmt.Errorf("%s: %s", line, s.Error)
	}
	return nil
}

func (s *stopped) line() string {
	if s.Phase != runtime.StopDone {
		return fmt.Sprintf("job %s is running", s.Job)
	}
	line := fmt.Sprintf("job %s is stopped", s.Job)
	switch {
	case s.Savepoint != "":
		line += ", savepoint at " + s.Savepoint
	case s.Checkpoint > 0:
		line += fmt.Sprintf(" at checkpoint %d", s.Checkpoint)
	}
	if s.Drain {
		line += ", drained"
	}
	return line
}

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/web"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob"
)

func (p *program) run() *cli.Command {
	fresh := &optional{}
	wait := &optional{alone: "1m"}
	flags := append(p.jobFlags(),
		&cli.StringFlag{Name: "from", Usage: "begin from a `SAVEPOINT`, or from checkpoint:ID, one that is retained; once: a job that has begun from it already goes on"},
		&cli.BoolFlag{Name: "again", Usage: "with --from or --fresh: begin anew even so", DisableDefaultText: true},
		optionally("fresh", "ID", fresh, "begin empty, once for each ID: a job that has begun so already goes on"),
		optionally("wait-for-broker", "DURATION", wait, "wait that long (1m) for a broker to answer, instead of ending at once"),
		&cli.BoolFlag{Name: "end-with-stdin", Hidden: true, Usage: "end at once when standard input is closed: for a parent process"},
	)
	flags = append(flags, addressFlags("listen on `HOST:PORT`; off for nowhere (default: "+web.DefaultAddress+")")...)
	return &cli.Command{
		Name:      "run",
		Usage:     "run a job until it is stopped or its input ends",
		ArgsUsage: p.jobArg("JOB.yaml"),
		Description: "Continues from the job's last checkpoint, if there is one. SIGTERM takes a last checkpoint and exits with 0;\n" +
			"a second one ends at once.",
		Flags: append(flags, logFlags()...),
		Action: func(c *cli.Context) error {
			if err := p.wantJob(c, 0); err != nil {
				if wait.set && wait.value == wait.alone || fresh.set && fresh.value == fresh.alone {
					err = &usageError{fmt.Errorf("%w (a value of --fresh or --wait-for-broker follows a =, as in --wait-for-broker=5m)", err)}
				}
				return err
			}
			start := job.Start{From: c.String("from"), Fresh: fresh.set, FreshName: fresh.value, Again: c.Bool("again")}
			switch {
			case start.From != "" && fresh.set:
				return usagef("run: --from and --fresh exclude each other")
			case strings.HasPrefix(start.From, checkpoint.FromCheckpointPrefix):
				if _, err := checkpoint.ParseCheckpoint(start.From); err != nil {
					return usagef("run: --from: %w", err)
				}
			case start.Again && start.From == "" && !fresh.set:
				return usagef("run: --again goes with --from or --fresh")
			}
			var patience time.Duration
			if wait.set {
				var err error
				if patience, err = yamljob.ParseDuration(wait.value); err != nil || patience <= 0 {
					return usagef("run: --wait-for-broker: %q is not a duration, such as 30s", wait.value)
				}
			}
			l, err := p.load(c)
			if err != nil {
				return err
			}
			l.options.Start = start
			l.options.WaitForBroker = patience
			if c.Bool("end-with-stdin") {
				endWithStdin()
			}
			return p.runJob(c, l)
		},
	}
}

// runJob runs a job with everything around it: log, HTTP address, signals.
func (p *program) runJob(c *cli.Context, l *loaded) error {
	o := &l.options
	override(c, &o.HTTP)
	overrideLog(c, &o.Log)
	if err := l.check(); err != nil {
		return err
	}
	if o.Logger == nil {
		o.Logger = o.Log.Logger(p.stderr)
		if !strings.EqualFold(o.Log.Format, "json") {
			o.Logger = slog.New(told{o.Logger.Handler()})
		}
	}
	logger := o.Logger.With("job", l.graph.Name()) // the engine adds it by itself

	metrics := web.NewMetrics(buildVersion())
	o.Listener = checkpoint.Tee(metrics.Listener(), o.Listener)
	if o.Fault == nil {
		hook, err := faultHook()
		if err != nil {
			return err
		}
		o.Fault = hook
	}
	j, err := l.graph.Prepare(*o)
	if err != nil {
		return &invalid{err}
	}
	address := "off"
	if o.HTTP.Enabled() {
		// The address is taken before anything else, so that a port in use has no effect on a job that already runs.
		server, err := web.Listen(c.Context, o.HTTP)
		if err != nil {
			return err
		}
		defer server.Close()
		server.Serve(l.graph.Name(), j, metrics, logger)
		address = server.Addr()
	}
	// Not "listening", which reads as if the start had succeeded: that is what "running" says.
	logger.Info("starting", "address", address)
	defer tuneCollector(o)()
	defer stopOnSignal(logger, j.Stop)()
	if err := j.Run(context.WithoutCancel(c.Context)); err != nil {
		if !j.Ran() {
			err = p.withRemedy(err, j.Config())
		}
		return err
	}
	logger.Info("ended", "checkpoint", j.Status().Checkpoint)
	return nil
}

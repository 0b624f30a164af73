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
		&cli.StringFlag{Name: "from", Usage: "begin from a `SAVEPOINT`, or from checkpoint:ID, one that is retained or was left behind; once: a job that has begun from it already goes on"},
		&cli.BoolFlag{Name: "again", Usage: "with --from, --fresh or --drop-state: do it even if it has been done", DisableDefaultText: true},
		optionally("fresh", "ID", fresh, "begin empty, once for each ID: a job that has begun so already goes on"),
		&cli.StringFlag{Name: "offsets-from", Usage: "with --fresh: begin with the offsets of a `SAVEPOINT`, or of checkpoint:ID, and empty state"},
		optionally("wait-for-broker", "DURATION", wait, "wait that long (1m) for a broker to answer, instead of ending at once"),
		&cli.BoolFlag{Name: "end-with-stdin", Hidden: true, Usage: "end at once when standard input is closed: for a parent process"},
	)
	flags = append(append(flags, restoreFlags()...), addressFlags("listen on `HOST:PORT`; off for nowhere (default: "+web.DefaultAddress+")")...)
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
			start := job.Start{
				From: c.String("from"), Fresh: fresh.set, FreshName: fresh.value, OffsetsFrom: c.String("offsets-from"), Again: c.Bool("again"),
				Drop: c.StringSlice("drop-state"), OnIncompatible: c.String("on-incompatible"),
			}
			if err := checkStart("run", start); err != nil {
				return err
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

// restoreFlags say what of a checkpoint or savepoint is not restored.
func restoreFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "drop-state", Usage: "leave out `OPERATOR` or OPERATOR/STATE, or the offsets of a SOURCE, or of a topic of it (SOURCE/TOPIC), that is gone; once, may be repeated"},
		&cli.StringFlag{Name: "on-incompatible", Value: "fail", Usage: "`POLICY` for state that does not fit: fail, drop:NAME[,NAME], or fresh to begin empty"},
	}
}

// checkStart reports flags that contradict each other, in the words of the flags.
func checkStart(command string, s job.Start) error {
	for _, from := range []struct{ flag, value string }{{"from", s.From}, {"offsets-from", s.OffsetsFrom}} {
		if strings.HasPrefix(from.value, checkpoint.FromCheckpointPrefix) {
			if _, err := checkpoint.ParseCheckpoint(from.value); err != nil {
				return usagef("%s: --%s: %w", command, from.flag, err)
			}
		}
	}
	if err := checkpoint.CheckDrops(s.Drop); err != nil {
		return usagef("%s: --drop-state: %w", command, err)
	}
	if _, err := checkpoint.ParseIncompatible(s.OnIncompatible); err != nil {
		return usagef("%s: --on-incompatible: %w", command, err)
	}
	switch {
	case s.From != "" && s.Fresh:
		return usagef("%s: --from and --fresh exclude each other", command)
	case s.OffsetsFrom != "" && !s.Fresh:
		return usagef("%s: --offsets-from goes with --fresh", command)
	case s.OffsetsFrom != "" && s.FreshName != "":
		return usagef("%s: --fresh takes no ID with --offsets-from: what the offsets are from is one", command)
	case s.Again && s.From == "" && !s.Fresh && len(s.Drop) == 0:
		return usagef("%s: --again goes with --from, --fresh or --drop-state", command)
	}
	if err := s.Validate(); err != nil {
		return usagef("%s: %w", command, err)
	}
	return nil
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

package cli

import (
	"context"
	"log/slog"

	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/job"
)

func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log-format", EnvVars: []string{"WEIR_LOG_FORMAT"}, Usage: "text or json"},
		&cli.StringFlag{Name: "log-level", EnvVars: []string{"WEIR_LOG_LEVEL"}, Usage: "debug, info, warn or error"},
	}
}

// told leaves out of a log for people what the command's last line says again: the error that ended the job.
type told struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h told) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "job failed" {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h told) WithAttrs(a []slog.Attr) slog.Handler { return told{h.Handler.WithAttrs(a)} }

// WithGroup implements [slog.Handler].
func (h told) WithGroup(name string) slog.Handler { return told{h.Handler.WithGroup(name)} }

// overrideLog puts what the flags and the environment say over a job's own settings.
func overrideLog(c *cli.Context, l *job.Log) {
	if s := c.String("log-format"); s != "" {
		l.Format = s
	}
	if s := c.String("log-level"); s != "" {
		l.Level = s
	}
	l.EnsureDefaults()
}

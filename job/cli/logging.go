package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/job"
)

func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log-format", EnvVars: []string{"WEIR_LOG_FORMAT"}, Usage: "text or json"},
		&cli.StringFlag{Name: "log-level", EnvVars: []string{"WEIR_LOG_LEVEL"}, Usage: "debug, info, warn or error"},
	}
}

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

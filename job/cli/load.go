package cli

import (
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob"
)

// loaded is a job and its settings, ready to be prepared.
type loaded struct {
	graph   *job.Graph
	options job.Options
}

// jobArg is how a command's usage names its job: a Go program has only one, and names none.
func (p *program) jobArg(name string) string {
	if p.graph != nil {
		return " "
	}
	return name
}

// wantJob checks the number of arguments: the job, unless the program has only one, and up to more others.
func (p *program) wantJob(c *cli.Context, more int) error {
	least := 1
	if p.graph != nil {
		least = 0
	}
	switch n := c.NArg(); {
	case n < least:
		return usagef("%s: name the job: its YAML file%s", called(c), map[bool]string{true: " or its name"}[c.Command.Name != "run" && c.Command.Name != "validate"])
	case n > least+more:
		return usagef("%s: too many arguments: %s", called(c), strings.Join(c.Args().Slice()[least+more:], " "))
	}
	return nil
}

// called is a command as the user calls it, without the program's name: checkpoints list.
func called(c *cli.Context) string {
	_, name, ok := strings.Cut(c.Command.HelpName, " ")
	if !ok {
		return c.Command.Name
	}
	return name
}

// isFile reports whether an argument means a job's file rather than its name.
func isFile(arg string) bool {
	if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") || strings.ContainsRune(arg, os.PathSeparator) {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

// load reads the job that a command's first argument names, or takes the program's own.
func (p *program) load(c *cli.Context) (*loaded, error) { return p.loadFile(c, c.Args().First()) }

// loadFile reads the job of a file, or takes the program's own.
func (p *program) loadFile(c *cli.Context, path string) (*loaded, error) {
	if p.graph != nil {
		o := p.options
		if err := set(&o, c.StringSlice("set")); err != nil {
			return nil, err
		}
		if err := overrideName(c, &o); err != nil {
			return nil, err
		}
		return &loaded{p.graph, o}, nil
	}
	l, err := yamljob.Load(path, yamljob.LoadOptions{Set: c.StringSlice("set")})
	if as[*fs.PathError](err) {
		return nil, &usageError{err}
	}
	if err != nil {
		return nil, &invalid{err}
	}
	if err := overrideName(c, &l.Options); err != nil {
		return nil, err
	}
	return &loaded{l.Graph, l.Options}, nil
}

// check reports every mistake in the job and its options, joined.
func (l *loaded) check() error {
	_, err := l.config()
	return err
}

// config is the job with its options as it would run, or every mistake in it.
func (l *loaded) config() (*runtime.Config, error) {
	prepared, err := l.graph.Prepare(l.options)
	if err != nil {
		return nil, &invalid{err}
	}
	return prepared.Config(), nil
}

package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/job"
)

// program is what the commands share: where they print, and the job if there is only one.
type program struct {
	name           string
	stdout, stderr io.Writer
	// graph and options are the job of a Go program; nil if jobs come from YAML files.
	graph   *job.Graph
	options job.Options
}

// Main runs one command of the program processor, whose jobs are YAML files, and returns the process's exit code. args
// are those of the process, its name first.
func Main(args []string) int {
	p := &program{name: "processor", stdout: os.Stdout, stderr: os.Stderr}
	return p.main(args)
}

// MainFor runs one command of a Go program for the job that it has built, and returns the process's exit code. The options
// are defaults: flags and environment variables win over them. A main function ends with
//
//	os.Exit(cli.MainFor(g, job.Options{...}, os.Args))
func MainFor(g *job.Graph, o job.Options, args []string) int {
	p := &program{name: filepath.Base(args[0]), stdout: os.Stdout, stderr: os.Stderr, graph: g, options: o}
	return p.main(args)
}

func (p *program) main(args []string) int {
	app := p.app()
	// "help run" is what some people try first: it is run --help.
	if len(args) > 1 && args[1] == "help" {
		args = append(append([]string{args[0]}, args[2:]...), "--help")
	}
	err := app.Run(flagsFirst(app, args))
	if err == nil {
		return ExitOK
	}
	code := ExitCode(err)
	for _, line := range lines(err) {
		// A mistake in a file begins with its place, as editors want it.
		if !as[*invalid](err) {
			line = p.name + ": " + line
		}
		fmt.Fprintln(p.stderr, line+p.remedy(err))
	}
	if code == ExitUsage && isUsage(err) {
		fmt.Fprintf(p.stderr, "%s: try %s --help\n", p.name, commandOf(app, args))
	}
	return code
}

func (p *program) app() *cli.App {
	app := &cli.App{
		Name:            p.name,
		Usage:           "exactly-once stream processing for Kafka",
		Writer:          p.stdout,
		ErrWriter:       p.stderr,
		HideHelpCommand: true,
		HideVersion:     true,
		// A value of --set may hold commas.
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		Commands:                  []*cli.Command{p.run(), p.validate(), p.doctor(), p.verify(), p.savepoint(), p.checkpoints(), p.offsets(), p.transactions(), p.stop(), p.health(), version(p)},
		Flags:                     []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true}},
		Action: func(c *cli.Context) error {
			if c.Bool("version") {
				p.printVersion()
				return nil
			}
			if c.Args().Present() {
				return usagef("unknown command %q%s", c.Args().First(), closest(c.App, c.Args().First()))
			}
			return cli.ShowAppHelp(c)
		},
	}
	if p.graph == nil {
		app.Commands = append(app.Commands, p.topics(), p.generate(), p.demo(), demoBroker())
	} else {
		app.Usage = "the job " + p.graph.Name() + ", an exactly-once stream processor for Kafka"
	}
	everyCommand(app.Commands, func(c *cli.Command) {
		c.OnUsageError = func(ctx *cli.Context, err error, _ bool) error { return usagef("%s: %s", called(ctx), flagError(err)) }
		c.HideHelpCommand = true
		c.Before = noEmpty
		if c.Subcommands != nil && c.Action == nil {
			c.Action = func(ctx *cli.Context) error {
				if ctx.Args().Present() {
					return usagef("%s: unknown command %q", called(ctx), ctx.Args().First())
				}
				return cli.ShowSubcommandHelp(ctx)
			}
		}
	})
	app.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return usagef("%s", flagError(err)) }
	return app
}

// closest is a hint at the command that was probably meant.
func closest(app *cli.App, given string) string {
	for _, c := range app.Commands {
		if !c.Hidden && levenshtein.ComputeDistance(given, c.Name) <= 2 {
			return fmt.Sprintf(" (did you mean %q?)", c.Name)
		}
	}
	return ""
}

// flagError puts an error of the flag package into our words.
func flagError(err error) string {
	for begin, ours := range map[string]string{"flag provided but not defined: -": "unknown flag %s", "flag needs an argument: -": "%s needs a value"} {
		if name, ok := strings.CutPrefix(err.Error(), begin); ok {
			name = "-" + strings.TrimPrefix(name, "-")
			if len(name) > 2 {
				name = "-" + name
			}
			return fmt.Sprintf(ours, name)
		}
	}
	return err.Error()
}

// commandOf is the command that a command line calls, as far as there is one: processor topics create.
func commandOf(app *cli.App, args []string) string {
	name, commands := app.Name, app.Commands
	for _, arg := range args[1:] {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(arg) })
		if i < 0 {
			break
		}
		name, commands = name+" "+arg, commands[i].Subcommands
	}
	return name
}

func everyCommand(commands []*cli.Command, do func(*cli.Command)) {
	for _, c := range commands {
		do(c)
		everyCommand(c.Subcommands, do)
	}
}

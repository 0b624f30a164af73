package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/weirstream/weir/job/cli/internal/demo"
)

func (p *program) demo() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see a job survive kill -9: needs no Kafka and nothing else, takes half a minute",
		Description: "Starts a Kafka in memory, feeds it, runs examples/clicks.yaml, kills its process again and again, and compares what\n" +
			"comes out with what a plain loop computes. Exits with 0 if nothing is lost, doubled or out of order, else with 1.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "keep", Usage: "leave everything running at the end, to look at, until Ctrl-C", DisableDefaultText: true},
			&cli.Uint64Flag{Name: "seed", Usage: "repeat the input and the moments of the kills of an earlier demonstration"},
			&cli.Int64Flag{Name: "events", Value: 300_000, Usage: "number of events"},
			&cli.DurationFlag{Name: "over", Value: 12 * time.Second, Usage: "how long feeding them takes"},
			&cli.IntFlag{Name: "kills", Value: 5, Usage: "number of kills"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("demo: takes no arguments")
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			o := demo.Options{
				Events: c.Int64("events"), Over: c.Duration("over"), Kills: c.Int("kills"), Seed: c.Uint64("seed"), Keep: c.Bool("keep"),
				Program: program, Command: calledAs(), Out: p.stdout,
			}
			if !c.IsSet("seed") {
				o.Seed = uint64(rand.IntN(1_000_000))
			}
			if err := o.Validate(); err != nil {
				return usagef("demo: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
			}
			if f, ok := p.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
				width, height, err := term.GetSize(int(f.Fd()))
				o.Live = err == nil && width >= 80 && height >= 12 && os.Getenv("TERM") != "dumb"
			}
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			err = demo.Run(ctx, o)
			if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
				if o.Keep && err == nil {
					return nil // it was to stay until Ctrl-C
				}
				return fmt.Errorf("demo: stopped before it was done")
			}
			return err
		},
	}
}

// demoBroker is the demonstration's broker, a process of its own.
func demoBroker() *cli.Command {
	return &cli.Command{
		Name: "demo-broker", Hidden: true, Usage: "a Kafka in memory that ends when standard input does",
		Action: func(*cli.Context) error { return demo.ServeBroker(os.Stdin, os.Stdout) },
	}
}

// calledAs is how the user calls this program: `go run` builds it into a temporary folder.
func calledAs() string {
	if strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") {
		return "go run ./cmd/processor"
	}
	return os.Args[0]
}

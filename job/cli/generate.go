package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/job/cli/internal/clicks"
	"github.com/weirstream/weir/job/cli/internal/demo"
)

func (p *program) generate() *cli.Command {
	return &cli.Command{
		Name:  "generate",
		Usage: "write events to a topic, as examples/clicks.yaml and the jobs in README.md read them",
		Flags: []cli.Flag{brokersFlag(),
			&cli.StringFlag{Name: "topic", Value: clicks.In, Usage: "the `TOPIC` to write to; it must exist"},
			&cli.IntFlag{Name: "rate", Value: 100, Usage: "events a second; 0 for as many as it takes"},
			&cli.Int64Flag{Name: "count", Usage: "end after `N` events; 0 for never"},
			&cli.IntFlag{Name: "users", Value: 500, Usage: "number of users"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "another one makes other events"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("generate: takes no arguments")
			}
			rate, count := c.Int("rate"), c.Int64("count")
			if rate < 0 || count < 0 || c.Int("users") < 1 {
				return usagef("generate: --rate and --count are 0 or more, --users is 1 or more")
			}
			config, err := cluster(c)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.generateEvents(ctx, config, c.String("topic"), clicks.Source{Seed: c.Uint64("seed"), Users: c.Int("users")}, rate, count)
		},
	}
}

func (p *program) generateEvents(ctx context.Context, config kafka.Config, topic string, src clicks.Source, rate int, count int64) error {
	cl, err := kafka.Dial(ctx, config, kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := kafka.NewCluster(cl).Topic(ctx, topic); err != nil {
		return err
	}
	if count == 0 {
		count = math.MaxInt64
	}
	// An endless feed is one of a minute after the other, so that its pace follows the clock.
	step := int64(max(rate, 100_000))
	if rate > 0 {
		step = int64(rate) * 60
	}
	var sent atomic.Int64
	for from := int64(0); from < count; {
		to := from + min(step, count-from)
		var over time.Duration
		if rate > 0 {
			over = time.Duration(float64(to-from) / float64(rate) * float64(time.Second))
		}
		err := demo.Feed(ctx, cl, topic, src, from, to, over, &sent)
		if ctx.Err() != nil {
			break // Ctrl-C is the usual end
		}
		if err != nil {
			return err
		}
		from = to
	}
	fmt.Fprintf(p.stdout, "%d events written to topic %s\n", sent.Load(), topic)
	return nil
}

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
)

func main() {
	if err := runAll(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func runAll() error {
	b := &bench{}
	which := flag.String("systems", "weir,streams,flink,flink-pooling,flink-10m", "what to run, of weir, streams, flink, flink-pooling, flink-10m")
	what := flag.String("scenarios", "held-kill,kills,freeze,held-freeze", "faults, of held-kill, kills, freeze, held-freeze")
	rounds := flag.Int("rounds", 1, "how often each is done")
	flag.IntVar(&b.rate, "rate", 200, "records a second")
	flag.IntVar(&b.keys, "keys", 1000, "keys of the input")
	flag.DurationVar(&b.settings.interval, "interval", time.Second, "time between checkpoints, or commits")
	flag.DurationVar(&b.settings.timeout, "timeout", 8*time.Second, "transaction timeout; an outage is twice that")
	flag.StringVar(&b.dir, "dir", "", "folder for logs and state, which stay (default: a temporary one, which also stays)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "weir-compare-"); err != nil {
			return err
		}
	}
	if b.programs, err = build(b.dir, *which != "weir"); err != nil {
		return err
	}
	defer harness.RemoveBuilds()
	b.cluster, err = harness.StartCluster(ctx, broker.Options{Light: true, Properties: map[string]string{
		// How often the broker looks for transactions to abort: 10 s by default.
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}})
	if err != nil {
		return err
	}
	defer b.cluster.Close()
	if err := b.cluster.Warm(ctx); err != nil {
		return err
	}
	fmt.Printf("logs in %s\n\n", b.dir)
	fmt.Println("| scenario | system | round | records | lost | doubled | other values | out of order | came to the end | exits |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for round := range *rounds {
		for _, sc := range scenarios {
			if !chosen(*what, sc.name) {
				continue
			}
			var all sync.WaitGroup
			for _, sys := range systems {
				if chosen(*which, sys.name) {
					all.Go(func() { b.report(ctx, sys, sc, round+1) })
				}
			}
			all.Wait()
		}
	}
	return ctx.Err()
}

func chosen(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

// report runs one trial and prints its row.
func (b *bench) report(ctx context.Context, sys system, sc scenario, round int) {
	o, err := b.try(ctx, sys, sc, round)
	if err != nil {
		fmt.Printf("| %s | %s | %d | no result: %v |\n", sc.name, sys.name, round, err)
		return
	}
	fmt.Printf("| %s | %s | %d | %d | %d | %d | %d | %d | %v | %v %s |\n", sc.name, sys.name, round,
		o.records, o.lost, o.doubled, o.other, o.shuffle, o.through, o.exits, strings.Join(o.notes, "; "))
}

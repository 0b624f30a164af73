// Command figures measures what a table of throughput does not show: what a barrier costs, how long a job takes to come
// back after kill -9 and to start, and what it needs while it is idle. bench/run.sh calls it; it needs a broker, the
// programs, and for some figures an input topic filled by bench/peers/go/gen.
//
//	pause     time a subtask does not process because of its snapshot, W3 with all keys in state
//	recovery  kill -9 of W3 and immediate restart, to the first newly committed record that a read_committed reader gets
//	start     start of a job without input to ready, the first time and as a restart
//	memory    resident memory of that job ten seconds later
//	allocs    allocations of the whole process for a record of W3
//
// Each figure is a line of the CSV file: figure, program, unit, number of samples, p50, p99, max.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are the command line.
type settings struct {
	brokers        string
	weir           string
	processor      string
	jobs           string
	count          string
	dir            string
	csv            string
	keysTopic      string
	keys           int
	keysInterval   time.Duration
	recoveryTopic  string
	kills          int
	killInterval   time.Duration
	allocsTopic    string
	starts         int
	settle         time.Duration
	patience       time.Duration
	pauseKeysShare float64
}

// figure measures one thing and reports it with record.
type figure struct {
	name    string
	measure func(*bench, context.Context) error
}

var figures = []figure{
	{"pause", (*bench).pause},
	{"recovery", (*bench).recovery},
	{"start", (*bench).start},
	{"memory", (*bench).memory},
	{"allocs", (*bench).allocs},
}

func main() {
	var s settings
	only := flag.String("only", "pause recovery start memory allocs", "figures to measure")
	flag.StringVar(&s.brokers, "brokers", "127.0.0.1:19092", "host:port of a broker")
	flag.StringVar(&s.weir, "weir", "bench/peers/bin/weir", "the Go jobs (bench/weir)")
	flag.StringVar(&s.processor, "processor", "bench/peers/bin/processor", "the program for YAML jobs")
	flag.StringVar(&s.jobs, "jobs", "bench/jobs", "folder of the YAML jobs")
	flag.StringVar(&s.count, "count", "bench/peers/bin/count", "the peers' check of an output")
	flag.StringVar(&s.dir, "dir", "bench/results/figures", "folder for state and logs; removed at the end unless something failed")
	flag.StringVar(&s.csv, "csv", "figures.csv", "file to append to")
	flag.StringVar(&s.keysTopic, "keys-topic", "bench-keys", "pause: input with -keys users")
	flag.IntVar(&s.keys, "keys", 1_000_000, "pause: users in -keys-topic")
	flag.Float64Var(&s.pauseKeysShare, "keys-share", 0.9, "pause: snapshots count once so much of -keys is in state")
	flag.DurationVar(&s.keysInterval, "keys-interval", 200*time.Millisecond, "pause: checkpoint interval")
	flag.StringVar(&s.recoveryTopic, "recovery-topic", "bench-big", "recovery: input")
	flag.IntVar(&s.kills, "kills", 5, "recovery: how often to kill the job")
	flag.DurationVar(&s.killInterval, "kill-interval", 200*time.Millisecond, "recovery: checkpoint interval")
	flag.StringVar(&s.allocsTopic, "allocs-topic", "bench-small", "allocs: input")
	flag.IntVar(&s.starts, "starts", 10, "start: how often")
	flag.DurationVar(&s.settle, "settle", 10*time.Second, "memory: how long the job is idle before")
	flag.DurationVar(&s.patience, "patience", 3*time.Minute, "how long anything may take")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, strings.Fields(*only)); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, only []string) error {
	b, err := newBench(s)
	if err != nil {
		return err
	}
	defer b.close()
	for _, name := range only {
		if !slices.ContainsFunc(figures, func(f figure) bool { return f.name == name }) {
			return fmt.Errorf("no figure %q", name)
		}
	}
	for _, f := range figures {
		if !slices.Contains(only, f.name) {
			continue
		}
		if err := f.measure(b, ctx); err != nil {
			return fmt.Errorf("%s: %w (logs: %s)", f.name, err, b.dir)
		}
	}
	return os.RemoveAll(b.dir)
}

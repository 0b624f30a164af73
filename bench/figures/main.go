// Command figures measures what a table of throughput does not show: what a barrier costs, how long a job takes to come
// back after kill -9 and to start, and what it needs while it is idle. bench/run.sh calls it; it needs a broker, the
// programs, and for some figures an input topic filled by bench/peers/go/gen.
//
//	start           start of a job without input to ready, the first time and as a restart
//	memory          resident memory of that job ten seconds later
//	binary          size of the program for YAML jobs
//	allocs          allocations of the whole process for a record of W3
//	bytes           what checkpoints of W3 wrote, as a multiple of the state that changed
//	pause           time a subtask does not process because of its snapshot, W3 with all keys in state
//	recovery        kill -9 of W3 and immediate restart, to the first newly committed record that a read_committed reader gets
//	recovery-fetch  the same without the local state: it comes from the checkpoint storage
//	scaling         W3 with input and output in memory, with one subtask and with two, and on one core and all
//	latency         from when a record was to be produced to a read_committed reader of its result
//
// Each figure is a line of the CSV file: figure (with -suffix behind it), program, unit, number of samples, p50, p99, max.
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
	bin            string
	peers          string
	jobs           string
	dir            string
	csv            string
	suffix         string
	big            string
	keysTopic      string
	keys           int
	afterFirst     bool
	memory         string
	keysInterval   time.Duration
	bytesInterval  time.Duration
	recoveryTopic  string
	kills          int
	killInterval   time.Duration
	starts         int
	settle         time.Duration
	patience       time.Duration
	pauseKeysShare float64
	scalingRecords int
	scalingRounds  int
	latencies      string
	latStart       time.Duration
	latStartJVM    time.Duration
	latWarm        time.Duration
	latFor         time.Duration
	latRate        int
}

// figure measures one thing and reports it with record.
type figure struct {
	name    string
	measure func(*bench, context.Context) error
}

var figures = []figure{
	{"start", (*bench).start},
	{"memory", (*bench).idleMemory},
	{"binary", (*bench).binary},
	{"allocs", (*bench).allocs},
	{"bytes", (*bench).bytes},
	{"pause", (*bench).pause},
	{"recovery", (*bench).recovery},
	{"recovery-fetch", (*bench).recoveryFetch},
	{"scaling", (*bench).scaling},
	{"latency", (*bench).latency},
}

func main() {
	var s settings
	only := flag.String("only", "start memory binary", "figures to measure")
	flag.StringVar(&s.brokers, "brokers", "127.0.0.1:19092", "host:port of a broker")
	flag.StringVar(&s.bin, "bin", "bench/peers/bin", "folder of the programs")
	flag.StringVar(&s.peers, "peers", "bench/peers", "folder of the peers' scripts")
	flag.StringVar(&s.jobs, "jobs", "bench/jobs", "folder of the YAML jobs")
	flag.StringVar(&s.dir, "dir", "bench/results/figures", "folder for state and logs; removed at the end unless something failed")
	flag.StringVar(&s.csv, "csv", "figures.csv", "file to append to")
	flag.StringVar(&s.suffix, "suffix", "", "what is put behind the figures' names, for example -many")
	flag.StringVar(&s.big, "big", "bench-big", "allocs: input")
	flag.StringVar(&s.keysTopic, "keys-topic", "bench-keys", "pause, bytes: input with -keys users")
	flag.IntVar(&s.keys, "keys", 1_000_000, "pause: users in -keys-topic")
	flag.BoolVar(&s.afterFirst, "after-first", false, "the first -keys records of -keys-topic and -recovery-topic name each user once: measure behind them")
	flag.StringVar(&s.memory, "memory", "", "pause, bytes, recovery: budget for state in memory (default: the engine's)")
	flag.Float64Var(&s.pauseKeysShare, "keys-share", 0.9, "pause: without -after-first, snapshots count once so much of -keys is in state")
	flag.DurationVar(&s.keysInterval, "keys-interval", 200*time.Millisecond, "pause: checkpoint interval")
	flag.DurationVar(&s.bytesInterval, "bytes-interval", time.Second, "bytes: checkpoint interval")
	flag.StringVar(&s.recoveryTopic, "recovery-topic", "bench-big", "recovery: input")
	flag.IntVar(&s.kills, "kills", 5, "recovery: how often to kill the job")
	flag.DurationVar(&s.killInterval, "kill-interval", 50*time.Millisecond, "recovery: checkpoint interval")
	flag.IntVar(&s.starts, "starts", 10, "start: how often")
	flag.DurationVar(&s.settle, "settle", 10*time.Second, "memory: how long the job is idle before")
	flag.IntVar(&s.scalingRecords, "scaling-records", 12_000_000, "scaling: records")
	flag.IntVar(&s.scalingRounds, "scaling-rounds", 3, "scaling: how often")
	flag.StringVar(&s.latencies, "latencies", "weir-w1@20 weir-w1@100 limit-alt-w1@100 flink-w1@100 weir-w3@20 weir-w3@100 flink-w3@100",
		"latency: programs (weir, weir-yaml, limit-alt, flink, kstreams), works and intervals in ms")
	flag.DurationVar(&s.latStart, "lat-start", 2*time.Second, "latency: from a job's start to the first record")
	flag.DurationVar(&s.latStartJVM, "lat-start-jvm", 8*time.Second, "latency: so much later for programs on the JVM")
	flag.DurationVar(&s.latWarm, "lat-warm", 15*time.Second, "latency: from the first result to the first that counts")
	flag.DurationVar(&s.latFor, "lat-for", 30*time.Second, "latency: how long results count")
	flag.IntVar(&s.latRate, "lat-rate", 20_000, "latency: records/s")
	flag.DurationVar(&s.patience, "patience", 45*time.Minute, "how long anything may take")
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

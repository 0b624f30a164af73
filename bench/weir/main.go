// Command weir is what bench/run.sh measures Weir with: the works of the peers as jobs in Go.
//
//	w1  passes records through
//	w2  parses JSON, keeps records with amount > 20, writes {"user","amount","ts"}
//	w3  keeps a count and a sum per user and writes {"user","count","sum"} for each record
//	w4  counts per user in one-minute windows of event time and writes {"user","window","count"}
//	w7  pairs each event with amount > 20 with the user's others of the 60 s after it and writes {"user","a","b","ts_a","ts_b"}
//
// It reads from the earliest offset, or goes on from its last checkpoint, and runs until SIGTERM. With -engine N it needs
// no broker: N records come from memory and the results are dropped (engine.go). There -yaml measures a file of bench/jobs
// instead, of the same work; the options are those of the flags.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/cli"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

func main() { os.Exit(run()) }

// maxDrift is how far partitions may be apart in event time in w4 and w7.
var maxDrift time.Duration

func run() int {
	work := flag.String("work", "w1", "w1, w2, w3, w4 or w7")
	brokers := flag.String("brokers", "127.0.0.1:19092", "host:port of a broker")
	in := flag.String("in", "bench-in", "topic to read")
	out := flag.String("out", "bench-out", "topic to write")
	group := flag.String("group", "weir-bench", "consumer group, and the job's name")
	interval := flag.Duration("interval", time.Second, "time between checkpoints")
	dir := flag.String("dir", "run", "folder for state")
	parallelism := flag.Int("parallelism", 1, "subtasks of each step")
	compression := flag.String("compression", "lz4", "of what is written: none, snappy, lz4 or zstd; the peers use lz4")
	memory := checkpoint.Bytes(0)
	flag.TextVar(&memory, "memory", memory, "budget for state in memory, for example 512MB; 0 for the engine's default")
	engine := flag.Int("engine", 0, "measure the engine alone with so many records out of memory")
	yamlFile := flag.String("yaml", "", "with -engine: measure this job file in place of the Go job")
	address := flag.String("address", "off", "HTTP address, for metrics")
	cpuProfile := flag.String("cpuprofile", "", "file to write a CPU profile to: of the whole run, or of what is measured with -engine")
	memProfile := flag.String("memprofile", "", "file to write a profile of all allocations to, at the end")
	pauses := flag.String("pauses", "", "file to write the pause of every snapshot to, at the end")
	flag.DurationVar(&maxDrift, "max-drift", 10*time.Second, "how far partitions may be apart in event time in w4 and w7; 0 for any")
	flag.Parse()

	g := job.New(*group)
	build, ok := works[*work]
	if !ok {
		fmt.Fprintf(os.Stderr, "weir: -work %q is none of w1, w2, w3, w4, w7\n", *work)
		return cli.ExitUsage
	}
	build(g, source.Kafka(source.KafkaOptions{Topics: []string{*in}}), sink.Kafka(sink.KafkaOptions{Topic: *out}))
	options := job.Options{
		Kafka:       job.Kafka{Brokers: []string{*brokers}},
		Parallelism: *parallelism,
		Checkpoint: checkpoint.Options{
			Interval: *interval,
			Storage:  filepath.Join(*dir, "state"),
			LocalDir: filepath.Join(*dir, "local"),
			Memory:   memory,
		},
		Producer: sink.Options{Compression: *compression},
	}
	var record pauseRecord
	if *pauses != "" {
		options.Listener = record.listener()
	}
	var code int
	if *engine > 0 {
		if *yamlFile != "" {
			var err error
			if g, err = yamlGraph(*yamlFile, *in, *out); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return cli.ExitUsage
			}
		}
		code = alone(g, options, engineRun{*work, *in, *out, *engine, *cpuProfile})
	} else {
		code = profiled(*cpuProfile, func() int {
			return cli.MainFor(g, options, []string{os.Args[0], "run", "--address", *address})
		})
	}
	return max(code, save(*memProfile, func(f *os.File) error { return pprof.Lookup("allocs").WriteTo(f, 0) }), save(*pauses, record.write))
}

// profiled runs do with a CPU profile written to file, if it is named.
func profiled(file string, do func() int) (code int) {
	failed := save(file, func(f *os.File) error {
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		code = do()
		return nil
	})
	if file == "" {
		code = do()
	}
	return max(code, failed)
}

// save writes a file, if it is named, and returns an exit code.
func save(name string, write func(*os.File) error) int {
	if name == "" {
		return cli.ExitOK
	}
	f, err := os.Create(name)
	if err == nil {
		err = write(f)
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "weir:", err)
		return cli.ExitOther
	}
	return cli.ExitOK
}

// Command job is what bench/run.sh measures Weir with: the four works of the peers as jobs in Go.
//
//	w1  passes records through
//	w2  parses JSON, keeps records with amount > 20, writes {"user","amount","ts"}
//	w3  keeps a count and a sum per user and writes {"user","count","sum"} for each record
//	w4  counts per user in one-minute windows of event time and writes {"user","window","count"}
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/cli"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

func main() {
	work := flag.String("work", "w1", "w1, w2, w3 or w4")
	brokers := flag.String("brokers", "127.0.0.1:19092", "host:port of a broker")
	in := flag.String("in", "bench-in", "topic to read")
	out := flag.String("out", "bench-out", "topic to write")
	group := flag.String("group", "weir-bench", "consumer group, and the job's name")
	interval := flag.Duration("interval", time.Second, "time between checkpoints")
	dir := flag.String("dir", "run", "folder for state")
	parallelism := flag.Int("parallelism", 1, "subtasks of each step")
	compression := flag.String("compression", "lz4", "of what is written: the peers use lz4")
	address := flag.String("address", "off", "HTTP address, for profiles and metrics")
	flag.Parse()

	g := job.New(*group)
	from := source.Kafka(source.KafkaOptions{Topics: []string{*in}})
	to := sink.Kafka(sink.KafkaOptions{Topic: *out})
	switch *work {
	case "w1":
		passThrough(g, from, to)
	case "w2":
		filterAndProject(g, from, to)
	case "w3":
		countAndSum(g, from, to)
	case "w4":
		windows(g, from, to)
	default:
		fmt.Fprintf(os.Stderr, "job: -work %q is none of w1, w2, w3, w4\n", *work)
		os.Exit(2)
	}
	options := job.Options{
		Kafka:       job.Kafka{Brokers: []string{*brokers}},
		Parallelism: *parallelism,
		Checkpoint: checkpoint.Options{
			Interval: *interval,
			Storage:  filepath.Join(*dir, "state"),
			LocalDir: filepath.Join(*dir, "local"),
		},
	}
	options.Producer.Compression = *compression
	os.Exit(cli.MainFor(g, options, []string{os.Args[0], "run", "--address", *address}))
}

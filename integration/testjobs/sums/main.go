// Command sums is a job in Go that keeps a running sum of n per key and writes it for each record: the same work as the
// YAML job of the kill tests, without the command line of cmd/processor.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

type number struct {
	Key string `json:"key"`
	N   int64  `json:"n"`
}

type sum struct {
	Key string `json:"key"`
	Sum int64  `json:"sum"`
}

func main() {
	name := flag.String("job", "sums", "name of the job")
	brokers := flag.String("brokers", "localhost:9092", "host:port of the brokers, with commas between")
	in := flag.String("in", "numbers", "topic to read")
	out := flag.String("out", "sums", "topic to write")
	storage := flag.String("storage", "weir-state", "folder for checkpoints")
	parallelism := flag.Int("parallelism", 2, "subtasks of each step")
	interval := flag.Duration("interval", 200*time.Millisecond, "time between checkpoints")
	flag.Parse()

	g := job.New(*name)
	numbers := job.From(g, "numbers", source.Kafka(source.KafkaOptions{Topics: []string{*in}}), decode)
	byKey := job.KeyBy(numbers, "by-key", func(n number) string { return n.Key })
	sums := job.Via(byKey, "sum", operators.Aggregate(operators.Aggregator[number, int64, sum]{
		Add:    func(acc int64, n number) (int64, error) { return acc + n.N, nil },
		Result: func(pane operators.Pane, acc int64) (sum, error) { return sum{pane.Key, acc}, nil },
	}))
	job.To(sums, "sums", sink.Kafka(sink.KafkaOptions{Topic: *out}), encode)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := g.Run(ctx, job.Options{
		Kafka:       job.Kafka{Brokers: strings.Split(*brokers, ",")},
		Parallelism: *parallelism,
		Checkpoint:  checkpoint.Options{Interval: *interval, Storage: *storage, LocalDir: *storage + "/local"},
		Logger:      slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func decode(r *stream.Record) (n number, err error) { return n, json.Unmarshal(r.Value, &n) }

func encode(s sum, r *stream.Record) error {
	var err error
	r.Value, err = json.Marshal(s)
	return err
}

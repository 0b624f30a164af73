// Command slow keeps a running sum of n per key, like the job of the other scenarios, and needs a while for each record. Its
// clock can be set while it runs. Its settings are in the environment: WEIR_JOB, WEIR_BROKERS, WEIR_IN, WEIR_OUT,
// WEIR_STORAGE; WEIR_BURN is how long a record takes; the file WEIR_CLOCK, if named, holds by how much the clock is wrong.
package main

import (
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/integration/testjobs/setclock"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/cli"
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
	burn, err := time.ParseDuration(os.Getenv("WEIR_BURN"))
	if err != nil {
		burn = 0
	}
	g := job.New(os.Getenv("WEIR_JOB"))
	numbers := job.From(g, "numbers", source.Kafka(source.KafkaOptions{Topics: []string{os.Getenv("WEIR_IN")}}), decode)
	byKey := job.KeyBy(numbers, "by-key", func(n number) string { return n.Key })
	sums := job.Via(byKey, "sum", operators.Aggregate(operators.Aggregator[number, int64, sum]{
		Add: func(acc int64, n number) (int64, error) {
			if burn > 0 {
				time.Sleep(burn) // as a call to some other service would
			}
			return acc + n.N, nil
		},
		Result: func(pane operators.Pane, acc int64) (sum, error) { return sum{pane.Key, acc}, nil },
	}))
	job.To(sums, "sums", sink.Kafka(sink.KafkaOptions{Topic: os.Getenv("WEIR_OUT")}), encode)
	storage := os.Getenv("WEIR_STORAGE")
	os.Exit(cli.MainFor(g, job.Options{
		Kafka:       job.Kafka{Brokers: strings.Split(os.Getenv("WEIR_BROKERS"), ",")},
		Parallelism: 2,
		Checkpoint:  checkpoint.Options{Interval: 50 * time.Millisecond, Storage: storage, LocalDir: storage + "/local"},
		Now:         setclock.From(os.Getenv("WEIR_CLOCK")),
	}, os.Args))
}

func decode(r *stream.Record) (n number, err error) { return n, json.Unmarshal(r.Value, &n) }

func encode(s sum, r *stream.Record) error {
	var err error
	r.Value, err = json.Marshal(s)
	return err
}

// Command raw is a job that copies records as they are. Its settings are in the environment: WEIR_JOB, WEIR_BROKERS,
// WEIR_IN, WEIR_OUT and WEIR_STORAGE.
package main

import (
	"os"
	"strings"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/cli"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

func main() {
	g := job.New(os.Getenv("WEIR_JOB"))
	records := job.From(g, "records", source.Kafka(source.KafkaOptions{Topics: []string{os.Getenv("WEIR_IN")}}), job.Raw)
	job.To(records, "copies", sink.Kafka(sink.KafkaOptions{Topic: os.Getenv("WEIR_OUT")}), job.RawOut)
	storage := os.Getenv("WEIR_STORAGE")
	os.Exit(cli.MainFor(g, job.Options{
		Kafka:       job.Kafka{Brokers: strings.Split(os.Getenv("WEIR_BROKERS"), ",")},
		Parallelism: 2,
		Checkpoint:  checkpoint.Options{Interval: 50 * time.Millisecond, Storage: storage, LocalDir: storage + "/local"},
	}, os.Args))
}

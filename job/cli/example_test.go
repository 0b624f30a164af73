package cli_test

import (
	"fmt"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/cli"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// A Go program has the same commands for its own job: run, validate, savepoint and the rest. Its main function ends with
// os.Exit(cli.MainFor(g, options, os.Args)).
func ExampleMainFor() {
	g := job.New("copy")
	in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"orders"}}), job.Raw)
	job.To(in, "out", sink.Kafka(sink.KafkaOptions{Topic: "orders-copy"}), job.RawOut)
	options := job.Options{Kafka: job.Kafka{Brokers: []string{"localhost:9092"}}}

	code := cli.MainFor(g, options, []string{"copy", "validate", "--set", "checkpoint.interval=1s"})
	fmt.Println("exit code", code)
	// Output:
	// job copy: ok
	// exit code 0
}

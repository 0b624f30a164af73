// Command send fills a topic with the flights that examples/flights.yaml reads. It creates the topic with 4 partitions, and
// the one for the results, if they are not there; both keep their records whatever the timestamps say.
//
//	go run ./integration/flights/send -brokers localhost:9092
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/flights"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "send:", err)
		os.Exit(1)
	}
}

func run() error {
	brokers := flag.String("brokers", "localhost:9092", "host:port of the brokers, with commas between")
	topic := flag.String("topic", "flights", "topic to fill")
	results := flag.String("results", "flights-per-day", "topic to create for the results")
	flag.Parse()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	path, err := flights.Fetch(ctx)
	if err != nil {
		return err
	}
	records, err := flights.Records(path, *topic)
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(*brokers, ",")...))
	if err != nil {
		return err
	}
	defer cl.Close()
	forever := "-1"
	for _, name := range []string{*topic, *results} {
		_, err := kadm.NewClient(cl).CreateTopic(ctx, 4, -1, map[string]*string{"retention.ms": &forever}, name)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	fmt.Printf("%d flights in topic %s\n", len(records), *topic)
	return nil
}

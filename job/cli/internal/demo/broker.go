package demo

import (
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirstream/weir/job/cli/internal/clicks"
)

const partitions = 4

// ServeBroker runs a Kafka in memory with the topics of the example. It prints its address as one line, and returns when
// in has ended.
func ServeBroker(in io.Reader, out io.Writer) error {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.SeedTopics(partitions, clicks.In, clicks.Out),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}),
	)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer cluster.Close()
	if _, err := fmt.Fprintln(out, cluster.ListenAddrs()[0]); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

package harness

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Warm makes the cluster create its own topics, as the first transaction and the first group do, and waits until all of
// their replicas are in sync. Scenarios with short timeouts begin with it.
func (c *Cluster) Warm(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers...), kgo.TransactionalID("warm"), kgo.TransactionTimeout(10*time.Second))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		_, _, err := cl.ProducerID(ctx)
		if err == nil {
			_, err = c.Admin.FetchOffsets(ctx, "warm")
		}
		if err == nil {
			return c.WaitInSync(ctx)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

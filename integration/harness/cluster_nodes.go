package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/integration/broker"
)

// StartNodes starts a Kafka of n nodes in a temporary folder. The caller closes it.
func StartNodes(ctx context.Context, opts broker.Options, n int) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "weir-kafka-")
	if err != nil {
		return nil, err
	}
	opts.Dir = dir
	nodes, err := startNodes(ctx, opts, n)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	var addresses []string
	for _, node := range nodes {
		addresses = append(addresses, node.Addr())
	}
	c, err := connect(addresses)
	if err != nil {
		for _, node := range nodes {
			node.Kill()
		}
		os.RemoveAll(dir)
		return nil, err
	}
	c.Nodes, c.Node, c.dir = nodes, nodes[0], dir
	return c, nil
}

func startNodes(ctx context.Context, opts broker.Options, n int) ([]*broker.Broker, error) {
	if n > 1 {
		return broker.StartNodes(ctx, opts, n)
	}
	node, err := broker.Start(ctx, opts)
	return []*broker.Broker{node}, err
}

// NewNodes is StartNodes for one test, which it ends with.
func NewNodes(t testing.TB, opts broker.Options, n int) *Cluster {
	t.Helper()
	c, err := StartNodes(Context(t, 3*time.Minute), opts, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, node := range c.Nodes {
			if t.Failed() {
				t.Logf("the log of node %d ends with:\n%s", node.ID(), node.LogTail(10))
			}
		}
		c.Close()
	})
	return c
}

// replicas is the replication factor of the tests' topics.
func (c *Cluster) replicas() int16 { return int16(max(1, len(c.Nodes))) }

// node returns the node with a broker ID.
func (c *Cluster) node(id int32) (*broker.Broker, error) {
	i := slices.IndexFunc(c.Nodes, func(b *broker.Broker) bool { return b.ID() == id })
	if i < 0 {
		return nil, fmt.Errorf("broker %d is none of the cluster's %d nodes", id, len(c.Nodes))
	}
	return c.Nodes[i], nil
}

// Leader returns the node that leads a partition.
func (c *Cluster) Leader(ctx context.Context, topic string, partition int32) (*broker.Broker, error) {
	meta, err := c.Admin.Metadata(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("leader of %s: %w", topic, err)
	}
	p, ok := meta.Topics[topic].Partitions[partition]
	if !ok || p.Leader < 0 {
		return nil, fmt.Errorf("%s partition %d has no leader", topic, partition)
	}
	return c.node(p.Leader)
}

// TransactionCoordinator returns the node that coordinates a transactional ID.
func (c *Cluster) TransactionCoordinator(ctx context.Context, id string) (*broker.Broker, error) {
	return c.coordinator(c.Admin.FindTxnCoordinators(ctx, id), id)
}

// GroupCoordinator returns the node that coordinates a consumer group.
func (c *Cluster) GroupCoordinator(ctx context.Context, group string) (*broker.Broker, error) {
	return c.coordinator(c.Admin.FindGroupCoordinators(ctx, group), group)
}

func (c *Cluster) coordinator(found kadm.FindCoordinatorResponses, name string) (*broker.Broker, error) {
	answer, ok := found[name]
	if !ok {
		return nil, fmt.Errorf("coordinator of %s: no answer", name)
	}
	if answer.Err != nil {
		return nil, fmt.Errorf("coordinator of %s: %w", name, answer.Err)
	}
	return c.node(answer.NodeID)
}

// WaitInSync waits until every partition of every topic, Kafka's own among them, has a leader and all of its replicas in
// sync: another node may be taken away without a loss then.
func (c *Cluster) WaitInSync(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		behind, err := c.outOfSync(ctx)
		if err == nil && behind == "" {
			return nil
		}
		if err == nil {
			err = errors.New(behind)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for all replicas: %w (%w)", ctx.Err(), err)
		}
	}
}

// outOfSync names a partition that lacks a replica, "" if none does.
func (c *Cluster) outOfSync(ctx context.Context) (string, error) {
	once, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	meta, err := c.Admin.Metadata(once)
	if err != nil {
		return "", err
	}
	if len(meta.Brokers) < len(c.Nodes) {
		return fmt.Sprintf("%d of %d nodes are there", len(meta.Brokers), len(c.Nodes)), nil
	}
	for _, topic := range meta.Topics {
		for _, p := range topic.Partitions {
			if p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
				return fmt.Sprintf("%s partition %d: leader %d, in sync %v of %v", topic.Topic, p.Partition, p.Leader, p.ISR, p.Replicas), nil
			}
		}
	}
	return "", nil
}

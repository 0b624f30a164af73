package harness

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/broker"
)

// Cluster is a Kafka that tests use, and what is needed to look at it.
type Cluster struct {
	Brokers []string
	Admin   *kadm.Client
	// Nodes are the brokers, none if the cluster is one that the caller named by KAFKA_BROKERS. Node is the first, or nil.
	Nodes []*broker.Broker
	Node  *broker.Broker
	dir   string
}

// Shared returns the cluster of the scenarios that need nothing special: the one that KAFKA_BROKERS names, or a new Kafka
// of the newest version. The caller closes it.
func Shared(ctx context.Context) (*Cluster, error) {
	if brokers := os.Getenv("KAFKA_BROKERS"); brokers != "" {
		return connect(strings.Split(brokers, ","))
	}
	return StartCluster(ctx, broker.Options{})
}

// StartCluster starts a Kafka of one node with options of its own, in a temporary folder.
func StartCluster(ctx context.Context, opts broker.Options) (*Cluster, error) {
	return StartNodes(ctx, opts, 1)
}

// NewCluster is StartCluster for one test, which it ends with.
func NewCluster(t testing.TB, opts broker.Options) *Cluster {
	t.Helper()
	return NewNodes(t, opts, 1)
}

func connect(brokers []string) (*Cluster, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...),
		// A node that does not answer is given up soon, and another one asked.
		kgo.RequestTimeoutOverhead(5*time.Second), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	return &Cluster{Brokers: brokers, Admin: kadm.NewClient(cl)}, nil
}

// Close ends the connections and the brokers, and removes their data.
func (c *Cluster) Close() {
	c.Admin.Close()
	for _, node := range c.Nodes {
		node.Kill()
	}
	if c.dir != "" {
		os.RemoveAll(c.dir)
	}
}

var topics atomic.Int64

// Name makes a name that no other test, and no other run on the same cluster, uses.
func Name(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), topics.Add(1))
}

// Topic creates a topic that keeps its records whatever their timestamps say, and deletes it after the test. Its name
// begins with the prefix. Every node has a replica.
func (c *Cluster) Topic(t testing.TB, prefix string, partitions int32) string {
	t.Helper()
	name := Name(prefix)
	c.Create(t, name, partitions)
	return name
}

// Create creates a topic of exactly this name, as Topic does.
func (c *Cluster) Create(t testing.TB, name string, partitions int32) {
	t.Helper()
	ctx := Context(t, 30*time.Second)
	forever := "-1"
	if _, err := c.Admin.CreateTopic(ctx, partitions, c.replicas(), map[string]*string{"retention.ms": &forever}, name); err != nil {
		t.Fatalf("create topic %s: %v", name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c.Admin.DeleteTopic(ctx, name)
	})
	// A topic that was just created has no leader for a moment.
	Until(t, 20*time.Second, "topic "+name+" has leaders", func() (bool, string) {
		ends, err := c.Admin.ListEndOffsets(ctx, name)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return false, err.Error()
		}
		return len(ends[name]) == int(partitions), fmt.Sprint(len(ends[name]), " partitions")
	})
}

// End returns the last stable offsets of a topic's partitions, added up: how far a read_committed reader can see. It waits
// for leaders if there are none at the moment.
func (c *Cluster) End(t testing.TB, topic string) int64 {
	t.Helper()
	var sum int64
	Until(t, time.Minute, "the end of "+topic, func() (bool, string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		offsets, err := c.Admin.ListCommittedOffsets(ctx, topic)
		if err == nil {
			err = offsets.Error()
		}
		if err != nil {
			return false, err.Error()
		}
		sum = 0
		offsets.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		return true, ""
	})
	return sum
}

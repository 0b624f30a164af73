//go:build integration

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
)

// What the scenarios with broken brokers set, so that every timeout is over within seconds. The producer's are flags, since
// they stand in another block of the job's file.
var (
	shortCheckpoints = []string{
		"timeout: 4s", "transaction_timeout: 9s",
		"tolerable_failures: 100",
		"restart: {strategy: exponential_delay, initial_backoff: 100ms, max_backoff: 1s}",
	}
	shortRequests = []string{"--set", "producer.request_timeout=4s"}
	// The brokers look every second for transactions that timed out, not every ten.
	shortBroker = map[string]string{
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
		"replica.lag.time.max.ms":                                     "5000",
	}
)

// longerThanAll is more than any of the timeouts above, and the brokers' session and the pause between two looks.
const longerThanAll = 11 * time.Second

// Three nodes, three replicas, two of which must have a record: one node may be missing at any moment.
func TestNodesMayFailOneAtATime(t *testing.T) {
	cluster := harness.NewNodes(t, broker.Options{Properties: shortBroker}, 3)
	warm(t, cluster)
	t.Run("leaders and coordinators are killed", func(t *testing.T) { leadersAreKilled(t, cluster) })
	t.Run("a leader is lost in the middle of a transaction", func(t *testing.T) { leaderIsLostInTransaction(t, cluster) })
	t.Run("a frozen leader wakes", func(t *testing.T) { leaderFreezes(t, cluster) })
	t.Run("rolling restart", func(t *testing.T) { rollingRestart(t, cluster) })
	t.Run("an output partition is offline while markers are written", func(t *testing.T) { outputIsOffline(t, cluster) })
}

// newFaultySums is a job that gives up on a broker within seconds.
func newFaultySums(t *testing.T, cluster *harness.Cluster) *sumsJob {
	t.Helper()
	inSync(t, cluster)
	j := newSums(t, cluster)
	j.checkpoint = shortCheckpoints
	// Kafka forgets after a restart who wrote records whose timestamps are years old, and takes what is sent again for new:
	// the feed's own records would be there twice.
	now := "LogAppendTime"
	configs := []kadm.AlterConfig{{Name: "message.timestamp.type", Value: &now}}
	if _, err := cluster.Admin.AlterTopicConfigs(harness.Context(t, 30*time.Second), configs, j.in); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { heal(t, cluster) }) // before the topics are deleted
	return j
}

// heal brings back what a scenario that failed has left broken.
func heal(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, node := range cluster.Nodes {
		node.Resume()
		if !node.Running() {
			if err := node.Restart(ctx); err != nil {
				t.Error(err)
			}
		}
	}
}

func warm(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	if err := cluster.Warm(harness.Context(t, 2*time.Minute)); err != nil {
		t.Fatal(err)
	}
}

func inSync(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	if err := cluster.WaitInSync(harness.Context(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
}

// restart brings a node back and waits until it has caught up.
func restart(t *testing.T, cluster *harness.Cluster, node *broker.Broker) {
	t.Helper()
	if err := node.Restart(harness.Context(t, 2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	inSync(t, cluster)
}

// nodeOf returns the node that find names.
func nodeOf(t *testing.T, find func(context.Context) (*broker.Broker, error)) *broker.Broker {
	t.Helper()
	node, err := find(harness.Context(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func (j *sumsJob) leaderOf(t *testing.T, topic string) *broker.Broker {
	t.Helper()
	return nodeOf(t, func(ctx context.Context) (*broker.Broker, error) { return j.cluster.Leader(ctx, topic, 0) })
}

func leadersAreKilled(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	rng := harness.Rand(t)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: rng.Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	for _, victim := range []struct {
		what string
		find func(context.Context) (*broker.Broker, error)
	}{
		{"the leader of the checkpoint partition", func(ctx context.Context) (*broker.Broker, error) {
			return cluster.Leader(ctx, j.checkpointTopic(), 0)
		}},
		{"the coordinator of a slot", func(ctx context.Context) (*broker.Broker, error) {
			return cluster.TransactionCoordinator(ctx, j.transactionPrefix()+"0.0")
		}},
		{"the coordinator of the group", func(ctx context.Context) (*broker.Broker, error) {
			return cluster.GroupCoordinator(ctx, j.name)
		}},
	} {
		j.waitForMore(t, 500)
		node := nodeOf(t, victim.find)
		harness.For(t, time.Duration(rng.Int64N(int64(100*time.Millisecond))))
		node.Kill()
		began := time.Now()
		j.waitForMore(t, 500)
		t.Logf("%s, node %d, is killed: results again after %s", victim.what, node.ID(), time.Since(began).Round(time.Millisecond))
		restart(t, cluster, node)
	}
	j.finish(t, feed, p)
}

// waitForOpen waits until the output has this many records of an open transaction.
func (j *sumsJob) waitForOpen(t *testing.T, records int64) {
	t.Helper()
	ctx := harness.Context(t, 30*time.Second)
	harness.Until(t, 30*time.Second, "records of an open transaction in "+j.out, func() (bool, string) {
		stable, err := j.cluster.Admin.ListCommittedOffsets(ctx, j.out)
		if err != nil {
			return false, err.Error()
		}
		ends, err := j.cluster.Admin.ListEndOffsets(ctx, j.out)
		if err != nil {
			return false, err.Error()
		}
		var open int64
		ends.Each(func(o kadm.ListedOffset) { open += o.Offset - stable[j.out][o.Partition].Offset })
		return open >= records, fmt.Sprint(open, " are there")
	})
}

func leaderIsLostInTransaction(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	j.interval = time.Second
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	j.waitForMore(t, 500)
	j.waitForOpen(t, 500)
	node := j.leaderOf(t, j.out)
	node.Kill()
	j.waitForMore(t, 4000)
	restart(t, cluster, node)
	j.finish(t, feed, p)
}

// A node that stands still for longer than every timeout is replaced, and disturbs nobody when it goes on.
func leaderFreezes(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	j.waitForMore(t, 500)
	node := j.leaderOf(t, j.checkpointTopic())
	node.Pause()
	began := time.Now()
	j.waitForMore(t, 500)
	t.Logf("node %d stands still: results again after %s", node.ID(), time.Since(began).Round(time.Millisecond))
	harness.For(t, longerThanAll-time.Since(began))
	node.Resume()
	j.waitForMore(t, 500)
	inSync(t, cluster)
	j.finish(t, feed, p)
}

func rollingRestart(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	for _, node := range cluster.Nodes {
		j.waitForMore(t, 500)
		node.Stop()
		restart(t, cluster, node)
	}
	j.waitForMore(t, 500)
	j.finish(t, feed, p)
}

// The commit is written down, and the markers that make it visible cannot be written to one partition.
func outputIsOffline(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	// The node may lead the checkpoint partition too, or coordinate: the others notice after 9 s, and the commit has to come
	// all the same.
	j.checkpoint = append([]string{"timeout: 20s", "transaction_timeout: 45s"}, shortCheckpoints[2:]...)
	j.interval = 3 * time.Second
	j.out = harness.Name("sums-of-one-replica")
	forever := "-1"
	least := "1"
	configs := map[string]*string{"retention.ms": &forever, "min.insync.replicas": &least}
	if _, err := cluster.Admin.CreateTopic(harness.Context(t, 30*time.Second), 4, 1, configs, j.out); err != nil {
		t.Fatal(err)
	}
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}
	p := j.start(t, shortRequests...)
	cluster.ProduceNumbers(t, j.in, numbers, 0, 1000)
	j.waitForOutput(t, 1000, 30*time.Second)

	// All of these are acknowledged, and the input is quiet: what is missing is the commit.
	pointers := cluster.End(t, j.checkpointTopic())
	cluster.ProduceNumbers(t, j.in, numbers, 1000, 2000)
	j.waitForOpen(t, 1000)
	node := j.leaderOf(t, j.out)
	node.Kill()
	// Kafka 4.4 waits for a leader of the partition only as long as the one before counts as alive. Then it takes the partition
	// for deleted, and the transaction for complete.
	harness.Until(t, time.Minute, "the commit", func() (bool, string) {
		return cluster.End(t, j.checkpointTopic()) > pointers, "no new pointer"
	})
	cluster.ProduceNumbers(t, j.in, numbers, 2000, 3000)
	harness.For(t, longerThanAll)
	restart(t, cluster, node)
	j.waitForOutput(t, 3000, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, 3000)
}

//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/integration/harness"
)

// A coordinator that has forgotten the transactions never ends those that were open: nobody sees what stands behind them
// until somebody ends them by hand. The records themselves are all there, once each.
func transactionsAreLost(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	j.interval = time.Second
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 1000)
	p := j.start(t, shortRequests...)
	j.waitForMore(t, 500)
	j.stop(t, p)
	cluster.NoOpenTransactions(t, j.transactionPrefix()) // the last markers too
	loseRecords(t, cluster, "__transaction_state")
	p = j.start(t, shortRequests...)
	j.waitForMore(t, 500)
	j.waitForOpen(t, 100)
	loseRecords(t, cluster, "__transaction_state")
	t.Logf("%d transactions were ended by hand", j.endHanging(t))
	j.waitForMore(t, 500)
	j.finish(t, feed, p)
}

// endHanging aborts the transactions that no coordinator knows of: those that were open on the partitions of the job's
// topics before its producers of now.
func (j *sumsJob) endHanging(t *testing.T) int {
	t.Helper()
	ctx := harness.Context(t, time.Minute)
	known := map[int64]bool{}
	harness.Until(t, time.Minute, "new producers of "+j.name, func() (bool, string) {
		clear(known)
		for _, tx := range j.cluster.Transactions(t, j.transactionPrefix()) {
			known[tx.ProducerID] = true
		}
		return len(known) == 4, fmt.Sprint(len(known), " of 4 IDs are known")
	})
	ended := 0
	var set kadm.TopicsSet
	for partition := range int32(4) {
		set.Add(j.out, partition)
		set.Add("__consumer_offsets", partition)
	}
	set.Add(j.checkpointTopic(), 0)
	harness.Until(t, time.Minute, "no partition has a transaction that hangs", func() (bool, string) {
		described, err := j.cluster.Admin.DescribeProducers(ctx, set)
		described.EachPartition(func(p kadm.DescribedProducersPartition) { err = errors.Join(err, p.Err) })
		if err != nil {
			return false, err.Error()
		}
		found := 0
		described.EachProducer(func(p kadm.DescribedProducer) {
			if p.CurrentTxnStartOffset >= 0 && !known[p.ProducerID] {
				found++
				if err = j.endTransaction(ctx, p); err == nil {
					ended++
				}
			}
		})
		return found == 0, fmt.Sprintf("%d are there, the last one: %v", found, err)
	})
	return ended
}

// endTransaction writes the marker that aborts a transaction on one partition.
func (j *sumsJob) endTransaction(ctx context.Context, p kadm.DescribedProducer) error {
	var where kadm.TopicsSet
	where.Add(p.Topic, p.Partition)
	written, err := j.cluster.Admin.WriteTxnMarkers(ctx, kadm.TxnMarkers{
		ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch, CoordinatorEpoch: p.CoordinatorEpoch, Topics: where,
	})
	written.EachPartition(func(r kadm.TxnMarkersPartitionResponse) { err = errors.Join(err, r.Err) })
	return err
}

//go:build integration

package integration

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
)

// A cluster is upgraded, and perhaps downgraded again, under a job that runs.
func TestTransactionVersionMayChangeWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	cluster := harness.NewCluster(t, broker.Options{
		Features: map[string]string{"transaction.version": "0"}, Properties: shortBroker, Light: true,
	})
	warm(t, cluster)
	j := newFaultySums(t, cluster)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 1000)
	p := j.start(t, shortRequests...)
	const upgrade, safeDowngrade, downgrade = 1, 2, 3
	for _, step := range []struct {
		level int16
		kind  int8
	}{{1, upgrade}, {2, upgrade}, {1, safeDowngrade}, {1, downgrade}, {2, upgrade}, {0, downgrade}} {
		j.waitForMore(t, 300)
		updated, err := cluster.Admin.UpdateFeatures(harness.Context(t, 30*time.Second), false,
			kadm.FeatureUpdate{Feature: "transaction.version", MaxVersionLevel: step.level, UpgradeType: step.kind})
		if err == nil {
			err = updated.Error()
		}
		t.Logf("transaction.version to %d (kind %d): %v", step.level, step.kind, err)
		j.waitForMore(t, 300)
	}
	j.finish(t, feed, p)
}

// C03: the IDs of a job that stood still are forgotten by the brokers, whether it runs meanwhile or not.
func TestTransactionalIDsMayExpire(t *testing.T) {
	t.Parallel()
	properties := map[string]string{
		"transactional.id.expiration.ms":                             "2000",
		"transaction.remove.expired.transaction.cleanup.interval.ms": "500",
		"producer.id.expiration.ms":                                  "2000",
		"producer.id.expiration.check.interval.ms":                   "500",
	}
	maps.Copy(properties, shortBroker)
	cluster := harness.NewCluster(t, broker.Options{Properties: properties, Light: true})
	warm(t, cluster)
	j := newFaultySums(t, cluster)
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}
	p := j.start(t, shortRequests...)
	cluster.ProduceNumbers(t, j.in, numbers, 0, 500)
	j.waitForOutput(t, 500, 30*time.Second)

	// It runs and has nothing to do.
	j.waitForExpiry(t)
	cluster.ProduceNumbers(t, j.in, numbers, 500, 1000)
	j.waitForOutput(t, 1000, 30*time.Second)
	_, page := harness.Get(j.address, "/metrics")
	if n, _ := harness.Metric(page, "weir_restarts_total"); n > 2 {
		t.Errorf("%v restarts, want one", n)
	}
	j.stop(t, p)

	// It does not run.
	j.waitForExpiry(t)
	p = j.start(t, shortRequests...)
	cluster.ProduceNumbers(t, j.in, numbers, 1000, 1500)
	j.waitForOutput(t, 1500, 30*time.Second)
	j.stop(t, p)
	j.checkInvariants(t, 1500)
}

// waitForExpiry waits until the brokers know none of the job's transactional IDs.
func (j *sumsJob) waitForExpiry(t *testing.T) {
	t.Helper()
	harness.Until(t, time.Minute, "the transactional IDs expire", func() (bool, string) {
		n := len(j.cluster.Transactions(t, j.transactionPrefix()))
		return n == 0, fmt.Sprint(n, " are there")
	})
}

// C15, C16: how long a transaction has been open, and how much of the output readers do not see, can be watched, whoever
// keeps it from them.
func TestOpenTransactionsShowInTheMetrics(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.interval = 20 * time.Second
	p := j.start(t)
	other := leaveOpen(t, j.cluster, j.out)
	const records = 40_000 // more than one batch of each partition: the first ones do not wait for the barrier
	j.cluster.ProduceNumbers(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 0, records)
	metric := func(name string, labels ...string) float64 {
		_, page := harness.Get(j.address, "/metrics")
		v, _ := harness.Metric(page, name, labels...)
		return v
	}
	harness.Until(t, 30*time.Second, "an age and a lag", func() (bool, string) {
		age, lag := metric("weir_transaction_age_seconds"), metric("weir_output_lag_records", `topic="`+j.out+`"`)
		return age > 0 && lag > 0, fmt.Sprint("age ", age, ", lag ", lag)
	})
	if limit := metric("weir_transaction_timeout_seconds"); limit != 90 {
		t.Errorf("the timeout is %v s, want 90", limit)
	}
	other()
	j.waitForOutput(t, records, time.Minute)
	harness.Until(t, 30*time.Second, "no lag any more", func() (bool, string) {
		lag := metric("weir_output_lag_records")
		return lag == 0, fmt.Sprint("lag ", lag)
	})
	j.stop(t, p)
	j.checkInvariants(t, records)
}

// leaveOpen writes a record in a transaction that is not the job's and leaves it open until it is aborted.
func leaveOpen(t *testing.T, cluster *harness.Cluster, topic string) (abort func()) {
	t.Helper()
	ctx := harness.Context(t, 2*time.Minute)
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.Brokers...), kgo.TransactionalID(harness.Name("somebody")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("{}")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := cl.EndTransaction(ctx, kgo.TryAbort); err != nil {
			t.Error(err)
		}
	}
}

//go:build integration

package integration

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

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

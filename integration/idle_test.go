//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// C06, C27: an empty interval commits no transaction, and an empty topic does not end the job.
func TestIdleJobWritesNothingAndTakesTheNextRecord(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.interval = 20 * time.Millisecond
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	p := j.start(t)

	watch := func(what string, d time.Duration) {
		before := j.footprint(t)
		harness.For(t, d)
		if after := j.footprint(t); after != before {
			t.Errorf("%s: the idle job wrote something:\nbefore %s\nafter  %s", what, before, after)
		}
	}
	j.settle(t)
	watch("before the first record", 5*time.Second)

	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 1000)
	j.waitForOutput(t, 1000, 20*time.Second)
	j.settle(t)
	watch("after 1000 records", 20*time.Second)

	j.cluster.ProduceNumbers(t, j.in, numbers, 1000, 1001)
	j.waitForOutput(t, 1001, 20*time.Second)
	j.stop(t, p)
	j.checkInvariants(t, 1001)
}

// footprint is everything that a job writes to a cluster: the ends of its topics, the epochs of its producers, each of
// which grows with every transaction, and its group's offsets.
func (j *sumsJob) footprint(t *testing.T) string {
	t.Helper()
	s := fmt.Sprintf("pointers end at %d, results at %d", j.cluster.End(t, j.checkpointTopic()), j.cluster.End(t, j.out))
	for _, tx := range j.cluster.Transactions(t, j.transactionPrefix()) {
		s += fmt.Sprintf("; %s %s epoch %d", tx.TxnID, tx.State, tx.ProducerEpoch)
	}
	offsets, err := j.cluster.Admin.FetchOffsets(harness.Context(t, 20*time.Second), j.name)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offsets.Sorted() {
		s += fmt.Sprintf("; %s/%d at %d %s", o.Topic, o.Partition, o.At, o.Metadata)
	}
	return s
}

// settle waits until the footprint stays the same for half a second: the last checkpoint of a burst may still come, and the
// brokers write the markers of a commit after they have answered it.
func (j *sumsJob) settle(t *testing.T) {
	t.Helper()
	last, since := "", time.Now()
	harness.Until(t, 20*time.Second, "an idle job", func() (bool, string) {
		if now := j.footprint(t); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond && !strings.Contains(last, " Prepare"), last
	})
}

//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
)

// A reader that follows the output while it is written sees the results of a key in the order of its input, also across
// checkpoints and with several of them under way.
func TestReaderSeesEachKeyInOrderAcrossCheckpoints(t *testing.T) {
	j := newSums(t, shared(t))
	j.interval = 20 * time.Millisecond
	j.checkpoint = []string{"max_concurrent: 3"}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 50}, 5000)
	p := j.start(t)

	reader, err := kgo.NewClient(kgo.SeedBrokers(j.cluster.Brokers...), kgo.ConsumeTopics(j.out),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx := harness.Context(t, time.Minute)
	seen := map[int32][]*kgo.Record{}
	read := func(until func(n int64) bool) {
		for n := int64(harness.Count(seen)); !until(n); n = int64(harness.Count(seen)) {
			fetches := reader.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatalf("after %d results: %v", n, err)
			}
			fetches.EachRecord(func(r *kgo.Record) { seen[r.Partition] = append(seen[r.Partition], r) })
		}
	}
	end := time.Now().Add(10 * time.Second)
	read(func(int64) bool { return time.Now().After(end) })
	sent := feed.Stop()
	read(func(n int64) bool { return n >= sent })
	j.stop(t, p)

	want, err := harness.RunningSums(j.cluster.Read(t, j.in))
	if err != nil {
		t.Fatal(err)
	}
	got, err := harness.ReadSums(seen)
	if err != nil {
		t.Fatal(err)
	}
	if err := want.Compare(got); err != nil {
		t.Errorf("as the live reader saw it: %v", err)
	}
	j.checkInvariants(t, sent)
}

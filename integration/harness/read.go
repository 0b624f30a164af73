package harness

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Read returns every record of a topic that a read_committed reader sees now, up to the last stable offset, in order of
// offset within each partition. A topic without records gives none.
func (c *Cluster) Read(t testing.TB, topic string) map[int32][]*kgo.Record {
	t.Helper()
	ctx := Context(t, 2*time.Minute)
	ends, err := c.Admin.ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatalf("read %s: %v", topic, err)
	}
	starts, err := c.Admin.ListStartOffsets(ctx, topic)
	if err != nil {
		t.Fatalf("read %s: %v", topic, err)
	}
	read := map[int32][]*kgo.Record{}
	from := map[int32]kgo.Offset{}
	left := map[int32]int64{} // partition to the last offset wanted
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, o.Partition)
		read[o.Partition] = nil
		if o.Offset > start.Offset {
			from[o.Partition] = kgo.NewOffset().At(start.Offset)
			left[o.Partition] = o.Offset - 1
		}
	})
	if len(left) == 0 {
		return read
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// The last offset below the last stable one is a record or a transaction's marker, never an aborted record.
		kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s: %v (partitions left: %v)", topic, err, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			last, open := left[r.Partition]
			if !open || r.Offset > last {
				return
			}
			if !r.Attrs.IsControl() {
				read[r.Partition] = append(read[r.Partition], r)
			}
			if r.Offset == last {
				delete(left, r.Partition)
			}
		})
	}
	return read
}

// Count is the number of records in what Read returned.
func Count(read map[int32][]*kgo.Record) int {
	n := 0
	for _, records := range read {
		n += len(records)
	}
	return n
}

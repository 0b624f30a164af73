package txn

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What [Offsets] may be asked for beside a time in milliseconds.
const (
	Latest   int64 = -1
	Earliest int64 = -2
	// Newest is the record with the latest timestamp.
	Newest int64 = -3
)

// Listed is an offset, and with Newest the timestamp of its record in milliseconds.
type Listed struct{ Offset, Timestamp int64 }

// Offsets asks the leaders of partitions, by topic, for an offset; committed means as a read_committed reader sees it.
// Topics that could not be asked get an entry in errs.
func Offsets(ctx context.Context, cl *kgo.Client, partitions map[string][]int32, at int64, committed bool, errs map[string]error) map[Partition]Listed {
	out := map[Partition]Listed{}
	if len(partitions) == 0 {
		return out
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if committed {
		req.IsolationLevel = 1
	}
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = name
		for _, p := range partitions[name] {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = p, at
			t.Partitions = append(t.Partitions, rp)
		}
		req.Topics = append(req.Topics, t)
	}
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, t := range shard.Req.(*kmsg.ListOffsetsRequest).Topics {
				errs[t.Topic] = shard.Err
			}
			continue
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					errs[t.Topic] = err
					continue
				}
				out[Partition{t.Topic, p.Partition}] = Listed{p.Offset, p.Timestamp}
			}
		}
	}
	return out
}

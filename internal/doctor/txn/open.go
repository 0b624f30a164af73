package txn

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Block is a partition whose read_committed readers stop before its end.
type Block struct {
	Partition
	// Stable is the last stable offset, at which they stop; End is the end of the log.
	Stable, End int64
}

// Blocked compares the last stable offset of every partition with its end. Topics that cannot be asked are in errs.
func Blocked(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) (blocks []Block, errs map[string]error) {
	errs = map[string]error{}
	// The end first: a transaction that is committed in between must not look like a block.
	ends := Offsets(ctx, cl, partitions, Latest, false, errs)
	stable := Offsets(ctx, cl, partitions, Latest, true, errs)
	for p, end := range ends {
		if at, ok := stable[p]; ok && at.Offset < end.Offset {
			blocks = append(blocks, Block{p, at.Offset, end.Offset})
		}
	}
	slices.SortFunc(blocks, func(a, b Block) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition.Partition, b.Partition.Partition))
	})
	return blocks, errs
}

// Open is a transaction that a producer has open on a partition, as the partition's leader sees it.
type Open struct {
	Partition
	Producer int64 `json:"producer"`
	Epoch    int16 `json:"epoch"`
	// CoordinatorEpoch is what a marker has to carry.
	CoordinatorEpoch int32 `json:"-"`
	// Start is the offset of its first record here.
	Start int64 `json:"start_offset"`
	// Last is the timestamp of the producer's latest record, in milliseconds; the producer chose it.
	Last int64 `json:"last_timestamp_ms"`
	// ID is the producer's transactional ID, "" if nobody tells; State what its coordinator says then.
	ID    string `json:"transactional_id,omitempty"`
	State *State `json:"transaction,omitempty"`
}

// Verdict says what becomes of an open transaction.
type Verdict string

const (
	// Ends: its coordinator knows it, and commits or aborts it by its timeout at the latest.
	Ends Verdict = "open"
	// Hangs: its coordinator knows the producer and has no such transaction. Nobody will end it.
	Hangs Verdict = "hanging"
	// Unmarked: its coordinator says that the producer's last transaction was committed, and there is no marker of that here. A
	// coordinator that comes back while a partition has no leader leaves its marker out. An abort would undo the commit.
	Unmarked Verdict = "unmarked"
	// Unclear: nobody tells whose it is, since it has expired or because we may not see it.
	Unclear Verdict = "unclear"
)

// String is the verdict for people.
func (v Verdict) String() string {
	if v == Unmarked {
		return "committed, its marker is missing"
	}
	return string(v)
}

// Verdict judges what the leader and the coordinator say.
func (o *Open) Verdict() Verdict {
	s := o.State
	switch {
	case o.ID == "" || s == nil || s.Err != nil || s.State == None:
		return Unclear
	// Under transaction.version 2 every transaction has an epoch of its own: that of the partition may be the older one
	// while markers are written, never the newer one.
	case s.Open() && s.Producer == o.Producer && s.Epoch >= o.Epoch && (len(s.Partitions) == 0 || slices.Contains(s.Partitions, o.Partition)):
		return Ends
	case s.State == "CompleteCommit" && s.Producer == o.Producer && (s.Epoch == o.Epoch || s.Epoch == o.Epoch+1):
		return Unmarked
	}
	return Hangs
}

// Age is how long ago the producer's latest record was written, by the timestamp that the producer gave it.
func (o *Open) Age(now time.Time) time.Duration { return now.Sub(time.UnixMilli(o.Last)) }

// Producers lists the transactions that are open on partitions, with what their coordinators say. It needs Read on the
// topics; those that may not be asked are in errs.
//
// The leaders are asked first and the coordinators then, so a transaction may be over by the coordinator's answer. Where the two
// do not agree, the leaders are asked again: what is still open there was open all the while.
func Producers(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) (open []Open, errs map[string]error) {
	open, errs = active(ctx, cl, partitions)
	var producers []int64
	for _, o := range open {
		if !slices.Contains(producers, o.Producer) {
			producers = append(producers, o.Producer)
		}
	}
	ids := idsOf(ctx, cl, producers)
	names := slices.Sorted(maps.Values(ids))
	states := map[string]*State{}
	described := Describe(ctx, cl, slices.Compact(names)...)
	for i := range described {
		states[described[i].ID] = &described[i]
	}
	doubtful := map[string][]int32{}
	for i := range open {
		o := &open[i]
		o.ID = ids[o.Producer]
		o.State = states[o.ID]
		if o.Verdict() != Ends && !slices.Contains(doubtful[o.Topic], o.Partition.Partition) {
			doubtful[o.Topic] = append(doubtful[o.Topic], o.Partition.Partition)
		}
	}
	again, unasked := active(ctx, cl, doubtful)
	open = slices.DeleteFunc(open, func(o Open) bool {
		return o.Verdict() != Ends && unasked[o.Topic] == nil && !slices.ContainsFunc(again, o.same)
	})
	slices.SortFunc(open, func(a, b Open) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition.Partition, b.Partition.Partition), cmp.Compare(a.Start, b.Start))
	})
	return open, errs
}

// same reports whether two answers of a leader are about one transaction.
func (o *Open) same(b Open) bool {
	return o.Partition == b.Partition && o.Producer == b.Producer && o.Start == b.Start
}

// active asks the leaders which producers have a transaction open.
func active(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) (open []Open, errs map[string]error) {
	errs = map[string]error{}
	if len(partitions) == 0 {
		return nil, errs
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		t := kmsg.NewDescribeProducersRequestTopic()
		t.Topic, t.Partitions = name, partitions[name]
		req.Topics = append(req.Topics, t)
	}
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, t := range shard.Req.(*kmsg.DescribeProducersRequest).Topics {
				errs[t.Topic] = shard.Err
			}
			continue
		}
		for _, t := range shard.Resp.(*kmsg.DescribeProducersResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					errs[t.Topic] = err
					continue
				}
				for _, a := range p.ActiveProducers {
					if a.CurrentTxnStartOffset < 0 {
						continue
					}
					open = append(open, Open{
						Partition: Partition{t.Topic, p.Partition}, Producer: a.ProducerID, Epoch: int16(a.ProducerEpoch),
						CoordinatorEpoch: a.CoordinatorEpoch, Start: a.CurrentTxnStartOffset, Last: a.LastTimestamp,
					})
				}
			}
		}
	}
	return open, errs
}

// Still returns those of the blocks that are at the same offset as before: nobody has ended a transaction there.
func Still(ctx context.Context, cl *kgo.Client, blocks []Block) []Block {
	partitions := map[string][]int32{}
	for _, b := range blocks {
		partitions[b.Topic] = append(partitions[b.Topic], b.Partition.Partition)
	}
	now, errs := Blocked(ctx, cl, partitions)
	return slices.DeleteFunc(slices.Clone(blocks), func(b Block) bool {
		return errs[b.Topic] == nil && !slices.ContainsFunc(now, func(n Block) bool { return n.Partition == b.Partition && n.Stable == b.Stable })
	})
}

package probe

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/doctor/txn"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

// mostPartitions bounds of how many partitions the next record is looked at.
const mostPartitions = 200

// checkTopics judges the topics of one cluster, and on the job's own the clock.
func (e *examination) checkTopics(ctx context.Context, c *cluster) []doctor.Finding {
	e.readSettings(ctx, c)
	now := e.now().UnixMilli()
	sources := map[string]bool{}
	for _, u := range c.uses {
		if !u.sink {
			sources[u.topic] = true
		}
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range sources {
			if !yield(name) {
				return
			}
		}
	})
	errs := map[string]error{}
	asked := c.asked(names...)
	starts := txn.Offsets(ctx, c.client, asked, txn.Earliest, false, errs)
	ends := txn.Offsets(ctx, c.client, asked, txn.Latest, false, errs)
	stable := txn.Offsets(ctx, c.client, asked, txn.Latest, true, errs)

	last := e.pointer
	if e.behind(c, last, starts, ends) {
		// A job that runs has read on since. A pointer that is read after the beginnings of the logs and before their ends does not
		// lie outside of them by that.
		if now := e.newestPointer(ctx); now != nil {
			last = now
			ends = txn.Offsets(ctx, c.client, asked, txn.Latest, false, errs)
		}
	}
	var findings []doctor.Finding
	positions := map[*use]doctor.SourceUse{}
	wanted := map[txn.Partition]int64{}
	for i := range c.uses {
		u := &c.uses[i]
		if u.sink || c.topics[u.topic] == nil {
			continue
		}
		su := position(c, u, last, starts, ends)
		positions[u] = su
		for _, p := range su.Positions {
			at := txn.Partition{Topic: u.topic, Partition: p.Partition}
			if next := max(p.Offset, p.Start); !p.Done && next < stable[at].Offset && len(wanted) < mostPartitions {
				wanted[at] = next
			}
		}
	}
	times := e.timestamps(ctx, c, wanted)
	oldest := int64(math.MaxInt64)
	for i := range c.uses {
		u := &c.uses[i]
		t := c.topics[u.topic]
		if u.sink || t == nil {
			continue
		}
		su := positions[u]
		for j := range su.Positions {
			p := &su.Positions[j]
			if at := times[txn.Partition{Topic: u.topic, Partition: p.Partition}]; at > 0 {
				oldest = min(oldest, at)
				p.Next = at
			}
		}
		findings = append(findings, doctor.Source(&t.Topic, su, now)...)
	}
	if oldest == math.MaxInt64 {
		oldest = 0
	}
	done := map[string]bool{}
	for _, u := range c.uses {
		if t := c.topics[u.topic]; u.sink && t != nil && !done[u.topic] {
			done[u.topic] = true
			findings = append(findings, doctor.Sink(&t.Topic, oldest, now)...)
		}
	}
	if c.own != "" {
		t := c.topics[c.own]
		if t == nil {
			t = &topic{Topic: doctor.Topic{Name: c.own, Missing: true}}
		}
		var creating error
		if t.Missing {
			creating = e.creating(ctx)
		}
		findings = append(findings, doctor.CheckpointTopic(&t.Topic, creating)...)
		findings = append(findings, e.checkClock(ctx, c, names)...)
	}
	return findings
}

func (e *examination) readSettings(ctx context.Context, c *cluster) {
	var wg sync.WaitGroup
	for _, t := range c.topics {
		if t.Missing || t.Err != nil {
			continue
		}
		wg.Go(func() {
			t.Settings, t.SettingsErr = c.settings(ctx, kmsg.ConfigResourceTypeTopic, t.Name, topicSettings)
		})
	}
	wg.Wait()
}

// behind reports whether the last checkpoint stands where a log does not reach.
func (e *examination) behind(c *cluster, last *checkpoint.Pointer, starts, ends map[txn.Partition]txn.Listed) bool {
	for i := range c.uses {
		u := &c.uses[i]
		if last == nil || u.sink || c.topics[u.topic] == nil {
			continue
		}
		for _, p := range position(c, u, last, starts, ends).Positions {
			if !p.Done && (p.Offset < p.Start || p.Offset > p.End) {
				return true
			}
		}
	}
	return false
}

// newestPointer is the last pointer as of now, nil if it cannot be read.
func (e *examination) newestPointer(ctx context.Context) *checkpoint.Pointer {
	log, err := sink.NewPointerLog(e.home.client, sink.LogConfig{Topic: e.home.own, Timeout: e.opts.Timeout})
	if err != nil {
		return nil
	}
	ptr, _, err := e.newest(ctx, log)
	if err != nil {
		return nil
	}
	return ptr
}

// position is where the last checkpoint stands in a topic of a source, or where a first start would begin.
func position(c *cluster, u *use, last *checkpoint.Pointer, starts, ends map[txn.Partition]txn.Listed) doctor.SourceUse {
	su := doctor.SourceUse{SkipsLoss: u.from.OnDataLoss == "earliest"}
	restored := map[int32]checkpoint.Split{}
	if last != nil {
		for _, s := range last.Sources {
			for _, split := range s.Splits {
				if s.Name == u.step && split.Topic == u.topic {
					restored[split.Partition] = split
					su.Started, su.OldID = true, split.TopicID
				}
			}
		}
	}
	for _, p := range c.topics[u.topic].partitions {
		at := txn.Partition{Topic: u.topic, Partition: p}
		start, ok := starts[at]
		end, known := ends[at]
		if !ok || !known {
			continue
		}
		pos := doctor.Position{Partition: p, Offset: start.Offset, Start: start.Offset, End: end.Offset}
		if s, ok := restored[p]; ok {
			pos.Offset, pos.Done = s.Offset, s.Done
		} else if !su.Started && u.from.Start != "earliest" {
			continue // where it would begin is decided at the first start
		}
		su.Positions = append(su.Positions, pos)
	}
	return su
}

// timestamps reads the first record at or behind each offset, as far as one comes before the deadline.
func (e *examination) timestamps(ctx context.Context, c *cluster, wanted map[txn.Partition]int64) map[txn.Partition]int64 {
	out := map[txn.Partition]int64{}
	if len(wanted) == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout/2)
	defer cancel()
	assigned := map[string]map[int32]kgo.Offset{}
	for p, offset := range wanted {
		if assigned[p.Topic] == nil {
			assigned[p.Topic] = map[int32]kgo.Offset{}
		}
		assigned[p.Topic][p.Partition] = kgo.NewOffset().At(offset)
	}
	cl, err := kafka.Dial(ctx, c.config, kgo.ConsumePartitions(assigned), kgo.FetchMaxPartitionBytes(1<<10), kgo.FetchMaxBytes(1<<20),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions())
	if err != nil {
		return out
	}
	defer cl.Close()
	for len(out) < len(wanted) {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() || len(fetches.Errors()) > 0 && fetches.NumRecords() == 0 {
			return out
		}
		fetches.EachPartition(func(tp kgo.FetchTopicPartition) {
			at := txn.Partition{Topic: tp.Topic, Partition: tp.Partition}
			if len(tp.Records) > 0 && out[at] == 0 {
				out[at] = max(tp.Records[0].Timestamp.UnixMilli(), 1)
				cl.PauseFetchPartitions(map[string][]int32{tp.Topic: {tp.Partition}})
			}
		})
	}
	return out
}

// checkClock compares the machine's clock with what others have stamped.
func (e *examination) checkClock(ctx context.Context, c *cluster, sources []string) []doctor.Finding {
	// Whatever was stamped before is compared with a time that is taken after.
	newest := txn.Offsets(ctx, c.client, c.asked(c.names()...), txn.Newest, false, map[string]error{})
	clocks := doctor.Clocks{}
	for p, l := range newest {
		if c.topics[p.Topic].Settings["message.timestamp.type"] == "LogAppendTime" {
			if l.Timestamp > clocks.Brokers {
				clocks.Brokers, clocks.BrokersTopic = l.Timestamp, p.Topic
			}
		} else if slices.Contains(sources, p.Topic) && l.Timestamp > clocks.Records {
			clocks.Records, clocks.RecordsTopic = l.Timestamp, p.Topic
		}
	}
	if e.pointer != nil {
		clocks.Pointer, clocks.Host = e.pointer.Time, e.pointer.Host
	}
	clocks.Now = e.now().UnixMilli()
	return doctor.Clock(clocks)
}

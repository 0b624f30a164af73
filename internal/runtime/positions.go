package runtime

import (
	"sync/atomic"

	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// position is where a split stands, for whoever looks at the job from outside.
type position struct {
	topic     string
	partition int32
	offset    atomic.Int64
	// eventTime is the greatest that was processed, stream.MinTime if none is known.
	eventTime atomic.Int64
}

// SplitStatus is where a split stands.
type SplitStatus struct {
	Source, Topic string
	Partition     int32
	// Offset is the next to process, End that of the end of the log, -1 if unknown.
	Offset, End int64
	// EventTime is the greatest event time that was processed, stream.MinTime if none is known.
	EventTime int64
}

// publishSplit lets a split be seen from outside.
func (s *sourceSubtask) publishSplit(i int32) {
	p := &position{topic: s.splits[i].Topic, partition: s.splits[i].Partition}
	p.offset.Store(s.splits[i].Offset)
	p.eventTime.Store(stream.MinTime)
	var all []*position
	if old := s.positions.Load(); old != nil {
		all = append(all, *old...)
	}
	all = append(all, p)
	s.positions.Store(&all)
}

// EachSplit tells of every split that is read at the moment.
func (j *Job) EachSplit(fn func(SplitStatus)) {
	a := j.current.Load()
	if a == nil {
		return
	}
	for _, r := range a.readers {
		all := r.positions.Load()
		if all == nil {
			continue
		}
		for _, p := range *all {
			fn(SplitStatus{
				Source: r.node.Name, Topic: p.topic, Partition: p.partition,
				Offset: p.offset.Load(), End: a.sources[r.node].HighWatermark(p.topic, p.partition), EventTime: p.eventTime.Load(),
			})
		}
	}
}

// OldestTransaction is when the oldest open transaction with records began, in milliseconds since the Unix epoch; 0 if
// there is none.
func (j *Job) OldestTransaction() int64 {
	if a := j.current.Load(); a != nil {
		return a.tx.OldestOpen()
	}
	return 0
}

// EachDiscovery tells when each source last looked for new partitions, in milliseconds since the Unix epoch.
func (j *Job) EachDiscovery(fn func(source string, at int64)) {
	a := j.current.Load()
	if a == nil {
		return
	}
	for n, s := range a.sources {
		if d, ok := s.(source.Discovery); ok {
			at, _ := d.Discovered()
			fn(n.Name, at)
		}
	}
}

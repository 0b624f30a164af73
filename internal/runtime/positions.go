package runtime

import (
	"sync/atomic"

	"github.com/weirstream/weir/source"
)

// position is where a split stands, for whoever looks at the job from outside.
type position struct {
	topic     string
	partition int32
	offset    atomic.Int64
}

// publishSplit lets a split be seen from outside.
func (s *sourceSubtask) publishSplit(i int32) {
	p := &position{topic: s.splits[i].Topic, partition: s.splits[i].Partition}
	p.offset.Store(s.splits[i].Offset)
	var all []*position
	if old := s.positions.Load(); old != nil {
		all = append(all, *old...)
	}
	all = append(all, p)
	s.positions.Store(&all)
}

// EachSplit tells of every split that is read at the moment: the next offset to process, and the end of its log, -1 if
// unknown.
func (j *Job) EachSplit(fn func(source, topic string, partition int32, offset, end int64)) {
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
			fn(r.node.Name, p.topic, p.partition, p.offset.Load(), a.sources[r.node].HighWatermark(p.topic, p.partition))
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

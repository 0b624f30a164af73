package source

import (
	"context"
	"sync"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/stream"
)

// Batch is a run of records of one split, in order of offset, that share one buffer. The reader does not touch it again.
type Batch struct {
	Split   int32 // the reader's number for the split
	Records []stream.Record
	// Next is the offset to resume from once the batch is processed. A batch without records moves Next on, past records
	// that were aborted or compacted away.
	Next        int64
	LeaderEpoch int32
	// AtEnd: the fetch had reached the end of what can be read; the split may be idle.
	AtEnd bool
	// Bytes is the size of keys and values.
	Bytes int64
}

// Release gives the Records slice back to the source, which uses it again; what the records point to stays as it is. Who
// does not call it leaves the slice to the garbage collector.
func (b *Batch) Release() {
	clear(b.Records)
	if cap(b.Records) >= leastPooled {
		s := b.Records[:0]
		recordSlices.Put(&s)
	}
	b.Records = nil
}

// leastPooled is the capacity from which on a slice is worth keeping.
const leastPooled = 64

var recordSlices sync.Pool // of *[]stream.Record, all zero

// recordSlice returns an empty slice with room for n records, or for more.
func recordSlice(n int) []stream.Record {
	if n >= leastPooled {
		if s, ok := recordSlices.Get().(*[]stream.Record); ok {
			return *s
		}
	}
	return make([]stream.Record, 0, n)
}

// EventKind says what a reader reports.
type EventKind int

const (
	// EventBatch brings records.
	EventBatch EventKind = iota
	// EventSplit announces a split before its first batch: at start, or found later.
	EventSplit
	// EventIdle and EventActive: the split has had nothing new for the idle timeout, and the last fetch reached the end; or
	// records have come again.
	EventIdle
	EventActive
	// EventSplitEnd: the split has reached its stop offset.
	EventSplitEnd
	// EventEnd: every split has ended and no other will come. Nothing follows.
	EventEnd
)

// Event is one report of a reader.
type Event struct {
	Kind  EventKind
	Split checkpoint.Split // of EventSplit
	Index int32            // the split's number, of all but EventEnd
	Batch Batch            // of EventBatch
}

// Reader reads the splits of one source subtask. Run owns everything it starts.
type Reader interface {
	// Run reads until the context ends, and sends what it reads and learns to events, blocking while that is full: so a slow
	// job slows the reader. It returns the first error, nil if it sent EventEnd. It does not close the channel.
	Run(ctx context.Context, events chan<- Event) error
}

// Source is one source step of a job, shared by its subtasks.
type Source interface {
	// Resolve finds the source's splits: restored ones are taken as they are (checked: topic IDs, that offsets still exist)
	// and never re-resolved; partitions that are not among them are added from their beginning, or, at the first start
	// (restored == nil), from where the options say. The result is kept in the first checkpoint, before a record is read.
	Resolve(ctx context.Context, restored []checkpoint.Split) ([]checkpoint.Split, error)
	// Reader makes the reader of one subtask for its share of the splits, numbered by their place in the slice; discovered
	// partitions belong to subtask hash(topic, partition) mod parallelism, and are numbered on from there.
	Reader(subtask, parallelism int, splits []checkpoint.Split) (Reader, error)
	// HighWatermark returns the end of a split's log as of the latest fetch, -1 if unknown: lag is counted from it.
	HighWatermark(topic string, partition int32) int64
	// Topics lists the topics and their IDs, for the pointer.
	Topics() []checkpoint.Topic
	// Close releases connections.
	Close()
}

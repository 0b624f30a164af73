package sink

import (
	"context"

	"github.com/weirstream/weir/stream"
)

// Writer writes the results of one subtask to one topic. Its methods are called from one goroutine.
type Writer interface {
	// Write appends a record to what the current checkpoint will make visible. It chooses the partition as Kafka's own
	// producers do (murmur2 of the key; null keys fill one batch after the other), encodes the record into a batch in place,
	// and keeps nothing of rec. It blocks while too much is unacknowledged. A record that the topic does not take is a
	// *TooLargeError and has not been written; any other error ends the attempt.
	Write(rec *stream.Record) error
	// Barrier ends the current checkpoint: what was written so far goes to the brokers, what follows belongs to the next.
	// It does not wait.
	Barrier(checkpoint int64) error
	// Flush sends what is buffered without ending the checkpoint, for output that should be visible at once
	// (at_least_once). It does not wait.
	Flush() error
}

// Offset is one offset that a transaction commits in the job's group.
type Offset struct {
	Topic       string
	TopicID     [16]byte
	Partition   int32
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// Transactions is the output side of a shard for one attempt: its four slots, and the writers that share them. It is
// safe for concurrent use, but for what is said of order. The calls of one checkpoint come in this order:
//
//	Writer.Barrier(n) of every writer -> Flush(n) -> WritePointer(n) -> CommitOffsets(n) -> Commit(n)
//
// and Commit(n) before WritePointer(n+1).
type Transactions interface {
	// Fence takes over every slot: what an earlier attempt left open is aborted, and whoever still runs fails.
	Fence(ctx context.Context) error
	// Settle writes the markers that the brokers have left out at the end of earlier transactions of the slots, in the topics
	// given and the checkpoint partition; once, after Fence.
	Settle(ctx context.Context, log *PointerLog, topics []string) error
	// Unsettled is an error if a transaction of an earlier use of a slot has no marker on some partition, and had none when it was
	// last asked. What cannot be told is none.
	Unsettled(ctx context.Context, topics []string) error
	// Begin says which checkpoint the records written from now on belong to; once, before any writer is used.
	Begin(checkpoint int64)
	// Writer makes a writer to a topic; the topic must exist.
	Writer(ctx context.Context, topic string) (Writer, error)
	// Flush waits until all records of the checkpoint are acknowledged (step "prepare").
	Flush(ctx context.Context, checkpoint int64) error
	// WritePointer writes the pointer record to the shard's checkpoint partition, in the checkpoint's transaction, and
	// returns its offset.
	WritePointer(ctx context.Context, checkpoint int64, value []byte) (offset int64, err error)
	// CommitOffsets adds offsets of the job's group to the checkpoint's transaction.
	CommitOffsets(ctx context.Context, checkpoint int64, offsets []Offset) error
	// Commit commits the checkpoint's transaction. It is asked once: an error means that the outcome is unknown.
	Commit(ctx context.Context, checkpoint int64) error
	// Taken reports whether another process has fenced this one, as far as the brokers tell before that process commits
	// anything; known is false if there is nothing to tell by.
	Taken(ctx context.Context) (taken, known bool, err error)
	// Failed is closed when a record could not be written; Err then says why. Every call fails from then on.
	Failed() <-chan struct{}
	Err() error
	// OldestOpen is when the oldest transaction that has records and is not committed began, in milliseconds since the Unix
	// epoch; 0 if none.
	OldestOpen() int64
	// Interrupt ends every wait: calls fail from now on.
	Interrupt()
	// Close releases connections and returns when every goroutine has ended. An open transaction stays open: the next
	// attempt's Fence aborts it.
	Close()
}

package checkpoint

import (
	"time"

	"github.com/weirstream/weir/stream"
)

// Listener is told what happens to checkpoints. The log, the metrics and the tests are listeners. Every func may be nil;
// none may block. They are called from several goroutines.
type Listener struct {
	// OnTrigger: the barriers of a checkpoint are sent.
	OnTrigger func(TriggerEvent)
	// OnAlign: a subtask's alignment ended, with the time it held channels back.
	OnAlign func(AlignedEvent)
	// OnSnapshot: a subtask froze its state, with the time it did not process records for that.
	OnSnapshot func(SnapshotEvent)
	// OnPersist: the state of a checkpoint is stored.
	OnPersist func(PersistEvent)
	// OnPrepare: the output of a checkpoint is acknowledged.
	OnPrepare func(PrepareEvent)
	// OnComplete: a checkpoint is committed.
	OnComplete func(CompleteEvent)
	// OnFailed: a checkpoint ended without completing.
	OnFailed func(FailedEvent)
	// OnRestart: an attempt ended; the job starts again or gives up.
	OnRestart func(RestartEvent)
	// OnRestore: an attempt has recovered and its first checkpoint is committed.
	OnRestore func(RestoreEvent)
	// OnSavepoint: a savepoint has its manifest, or could not be written.
	OnSavepoint func(SavepointEvent)
	// OnStoreRetry: a call to the store failed and is tried again.
	OnStoreRetry func(StoreRetryEvent)
}

// TriggerEvent is the begin of a checkpoint.
type TriggerEvent struct {
	Checkpoint int64
	Slot       int
	Savepoint  string
	Last       bool
}

// AlignedEvent is the end of one subtask's alignment.
type AlignedEvent struct {
	Checkpoint int64
	Subtask    stream.SubtaskID
	Took       time.Duration
}

// SnapshotEvent is one subtask's snapshot.
type SnapshotEvent struct {
	Checkpoint int64
	Subtask    stream.SubtaskID
	// Pause is how long the subtask did not process records because of it; Entries, how many changes it froze.
	Pause   time.Duration
	Entries int
}

// PersistEvent is the end of the persist step.
type PersistEvent struct {
	Checkpoint int64
	Took       time.Duration
	// Bytes is the size of what changed; Uploaded what of it, or of a merge or base, went into files.
	Bytes, Uploaded int64
	// Base: a new base was made.
	Base bool
}

// PrepareEvent is the end of the prepare step.
type PrepareEvent struct {
	Checkpoint int64
	Took       time.Duration
}

// CompleteEvent is the commit of a checkpoint.
type CompleteEvent struct {
	Checkpoint int64
	// First marks the checkpoint that an attempt begins with.
	First, Last, Final bool
	// Took is the time since the trigger, Commit that of the last step alone.
	Took, Commit time.Duration
	// Size is the size of the pointer and of everything that it lists, in bytes.
	Size int64
}

// FailedEvent is the end of a checkpoint that did not complete.
type FailedEvent struct {
	Checkpoint int64
	Expired    bool
	Err        error
}

// RestartEvent is the end of an attempt.
type RestartEvent struct {
	Attempt string
	Err     error
	GiveUp  bool
	Delay   time.Duration
	Reason  string
}

// RestoreEvent is the begin of an attempt.
type RestoreEvent struct {
	Attempt, Lineage string
	Kind             ResolutionKind
	// Checkpoint is the one that was restored, 0 if the attempt begins empty.
	Checkpoint int64
	// Took is the time from the begin of recovery to the commit of the first checkpoint.
	Took time.Duration
}

// SavepointEvent is the end of a savepoint.
type SavepointEvent struct {
	Checkpoint int64
	Directory  string
	ID         string
	Bytes      int64
	Err        error
}

// StoreRetryEvent is a call to the store that is tried again.
type StoreRetryEvent struct {
	Store string
	Err   error
	Wait  time.Duration
}

// Tee returns a listener that tells all of the given ones, in their order. Nil ones are left out.
func Tee(listeners ...*Listener) *Listener {
	return &Listener{
		OnTrigger:    tee(listeners, func(l *Listener) func(TriggerEvent) { return l.OnTrigger }),
		OnAlign:      tee(listeners, func(l *Listener) func(AlignedEvent) { return l.OnAlign }),
		OnSnapshot:   tee(listeners, func(l *Listener) func(SnapshotEvent) { return l.OnSnapshot }),
		OnPersist:    tee(listeners, func(l *Listener) func(PersistEvent) { return l.OnPersist }),
		OnPrepare:    tee(listeners, func(l *Listener) func(PrepareEvent) { return l.OnPrepare }),
		OnComplete:   tee(listeners, func(l *Listener) func(CompleteEvent) { return l.OnComplete }),
		OnFailed:     tee(listeners, func(l *Listener) func(FailedEvent) { return l.OnFailed }),
		OnRestart:    tee(listeners, func(l *Listener) func(RestartEvent) { return l.OnRestart }),
		OnRestore:    tee(listeners, func(l *Listener) func(RestoreEvent) { return l.OnRestore }),
		OnSavepoint:  tee(listeners, func(l *Listener) func(SavepointEvent) { return l.OnSavepoint }),
		OnStoreRetry: tee(listeners, func(l *Listener) func(StoreRetryEvent) { return l.OnStoreRetry }),
	}
}

// tee never returns nil: a listener made by Tee has every func set, so its callers need no check.
func tee[E any](listeners []*Listener, field func(*Listener) func(E)) func(E) {
	var fs []func(E)
	for _, l := range listeners {
		if l == nil {
			continue
		}
		if f := field(l); f != nil {
			fs = append(fs, f)
		}
	}
	return func(e E) {
		for _, f := range fs {
			f(e)
		}
	}
}

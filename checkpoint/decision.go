package checkpoint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weirstream/weir/stream"
)

// DecisionKind says what the coordinator wants done.
type DecisionKind int

const (
	// DecideTrigger: send the barrier of the checkpoint from every source.
	DecideTrigger DecisionKind = iota
	// DecideSkip: nothing has happened since the last barrier; there is no checkpoint now, and no ID is used up.
	DecideSkip
	// DecidePersist: every subtask has frozen its state: encode and store it, and report Persisted.
	DecidePersist
	// DecidePrepare: every sink has seen the barrier: wait until its output is acknowledged, and report Prepared.
	DecidePrepare
	// DecideCommit: write the pointer, add the offsets, commit the transaction of the slot, and report Committed.
	DecideCommit
	// DecideComplete: the checkpoint exists: tell whoever waits for it, and let go of what is no longer listed.
	DecideComplete
	// DecideExpire: the checkpoint has taken longer than the timeout. DecideAbort follows.
	DecideExpire
	// DecideAbort: the attempt ends, for the reason in Err. Nothing follows.
	DecideAbort
	// DecideDone: the last checkpoint is committed, the job may end. Nothing follows.
	DecideDone
)

// Decision is one decision of a [Coordinator], to be carried out in the order given.
type Decision struct {
	Kind       DecisionKind
	Checkpoint int64
	// Slot is the transactional producer of the checkpoint.
	Slot int
	// Savepoint is the directory of the savepoint that the checkpoint is to become, if any.
	Savepoint string
	// First marks the checkpoint that an attempt begins with, without output; Last the one after which the job stops; Final,
	// that it stops because its input has ended. They are set on trigger, commit and complete.
	First, Last, Final bool
	// Missing are the subtasks that had not acknowledged when the checkpoint expired.
	Missing []stream.SubtaskID
	// Err is a *FailedError, of DecideAbort.
	Err error
}

func (d Decision) String() string {
	var b strings.Builder
	switch d.Kind {
	case DecideTrigger:
		fmt.Fprintf(&b, "trigger %d (slot %d)", d.Checkpoint, d.Slot)
	case DecideSkip:
		return "skip: idle"
	case DecidePersist:
		fmt.Fprintf(&b, "persist %d", d.Checkpoint)
	case DecidePrepare:
		fmt.Fprintf(&b, "prepare %d", d.Checkpoint)
	case DecideCommit:
		fmt.Fprintf(&b, "commit %d (slot %d)", d.Checkpoint, d.Slot)
	case DecideComplete:
		fmt.Fprintf(&b, "complete %d", d.Checkpoint)
	case DecideExpire:
		fmt.Fprintf(&b, "expire %d", d.Checkpoint)
	case DecideAbort:
		return "abort: " + d.Err.Error()
	case DecideDone:
		return "done"
	}
	if d.First {
		b.WriteString(" first")
	}
	if d.Last {
		b.WriteString(" last")
	}
	if d.Final {
		b.WriteString(" final")
	}
	if d.Savepoint != "" {
		b.WriteString(" savepoint=" + d.Savepoint)
	}
	return b.String()
}

// ErrExpired is what the cause of a [FailedError] wraps if a step of the checkpoint took longer than the timeout.
var ErrExpired = errors.New("expired")

// FailedError is why an attempt ended for a checkpoint. It counts against Options.TolerableFailures.
type FailedError struct {
	Checkpoint int64
	// Expired means that the checkpoint took longer than the timeout.
	Expired bool
	// Cause is what failed, nil if the checkpoint expired between its steps.
	Cause  error
	reason string
}

func (e *FailedError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("checkpoint %d: %v", e.Checkpoint, e.Cause)
	}
	return fmt.Sprintf("checkpoint %d: %s", e.Checkpoint, e.reason)
}

func (e *FailedError) Unwrap() error { return e.Cause }

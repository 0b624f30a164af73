// Package fault names the moments of a checkpoint and of a recovery at which a process may end, so that tests can end one
// there. The engine calls [Hook.At] at each of them. A job has no hook unless a test gives it one: what is left then is a
// comparison with nil, a few dozen times a checkpoint and never on the path of a record.
package fault

import "slices"

// Step is one moment in the life of an attempt.
type Step string

// The steps of a recovery, in order. A start without state passes only some of them.
const (
	Connected       Step = "connected"         // the topics exist, nobody is fenced yet
	SlotFenced      Step = "slot-fenced"       // one of the four slots is fenced
	Fenced          Step = "fenced"            // all are
	PointerRead     Step = "pointer-read"      // the last pointer is known
	Resolved        Step = "resolved"          // what to begin from is decided
	SourceOpened    Step = "source-opened"     // the splits of one source are resolved
	DeltaRead       Step = "delta-read"        // one delta is fetched, maybe before anybody is fenced
	SavepointCopied Step = "savepoint-adopted" // the files of a savepoint are in the job's own storage
	BaseFilePlaced  Step = "base-file-placed"  // one file of the base is in the working directory
	StateOpened     Step = "state-opened"      // Pebble is open
	Built           Step = "built"             // the subtasks exist, nothing is committed yet
	Begun           Step = "begun"             // the attempt's first checkpoint is committed
)

// The steps of a checkpoint, in order. Those from PointerWritten on are steps of an attempt's first checkpoint too.
const (
	Triggered      Step = "triggered"       // no barrier is sent yet
	BarriersSent   Step = "barriers-sent"   // every source has been asked for its barrier
	Snapshot       Step = "snapshot"        // one subtask's state is frozen, its barrier handed on
	Encoding       Step = "encoding"        // one state of one subtask is encoded
	Encoded        Step = "encoded"         // the delta is complete
	Flushed        Step = "flushed"         // every output record is acknowledged
	Uploading      Step = "uploading"       // a part of a file is written
	Uploaded       Step = "uploaded"        // one file is in the storage
	PointerWritten Step = "pointer-written" // the pointer is acknowledged
	OffsetsWritten Step = "offsets-written" // the offsets are in the transaction
	CommitSent     Step = "commit-sent"     // the request to commit has left, no answer has come
	Committed      Step = "committed"       // the answer has come, nobody knows of it yet
	Completed      Step = "completed"       // the subtasks know
)

// The steps of what goes on beside checkpoints.
const (
	Cleaning         Step = "cleaning"           // one file that is no longer needed is deleted
	PointersTrimmed  Step = "pointers-trimmed"   // records of the checkpoint topic are deleted
	BaseBegun        Step = "base-begun"         // a base is due
	BaseWritten      Step = "base-written"       // it is in Pebble, nothing is uploaded
	BaseUploaded     Step = "base-uploaded"      // all its files are in the storage, no pointer lists them
	SavepointBegun   Step = "savepoint-begun"    // its checkpoint is committed
	SavepointWritten Step = "savepoint-complete" // the manifest is written
)

var steps = []Step{
	Connected, SlotFenced, Fenced, PointerRead, Resolved, SourceOpened, DeltaRead, SavepointCopied, BaseFilePlaced, StateOpened, Built, Begun,
	Triggered, BarriersSent, Snapshot, Encoding, Encoded, Flushed, Uploading, Uploaded, PointerWritten, OffsetsWritten, CommitSent, Committed, Completed,
	Cleaning, PointersTrimmed, BaseBegun, BaseWritten, BaseUploaded, SavepointBegun, SavepointWritten,
}

// RecoverySteps returns the steps that a start takes up to its first checkpoint, in order.
func RecoverySteps() []Step {
	first := []Step{PointerWritten, OffsetsWritten, CommitSent, Committed, Begun}
	return slices.Concat(steps[:slices.Index(steps, Begun)], first)
}

// Steps returns every step there is.
func Steps() []Step { return slices.Clone(steps) }

// Hook is called at every step, on the goroutine that takes it; the step goes on when the hook returns. Several goroutines
// may call it at once.
type Hook func(Step)

// At calls the hook, if there is one.
func (h Hook) At(s Step) {
	if h != nil {
		h(s)
	}
}

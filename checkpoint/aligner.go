package checkpoint

import "fmt"

// AlignKind says what the aligner decided.
type AlignKind int

const (
	// AlignBegin: the first barrier of a checkpoint has come.
	AlignBegin AlignKind = iota
	// AlignBlock: nothing more is read from the channel until the checkpoint is unblocked.
	AlignBlock
	// AlignSnapshot: every channel's barrier has come: freeze the state and forward the barrier, before anything else is read.
	AlignSnapshot
	// AlignUnblock: the channel is read again.
	AlignUnblock
	// AlignEnd: every channel has ended.
	AlignEnd
	// AlignFail: the barriers contradict the protocol. The attempt ends.
	AlignFail
)

// AlignEvent is one decision of an [Aligner], to be carried out in the order given.
type AlignEvent struct {
	Kind       AlignKind
	Checkpoint int64
	Channel    int
	Reason     string // of AlignFail
}

func (e AlignEvent) String() string {
	switch e.Kind {
	case AlignBegin:
		return fmt.Sprintf("begin checkpoint %d", e.Checkpoint)
	case AlignBlock:
		return fmt.Sprintf("block channel %d (checkpoint %d)", e.Channel, e.Checkpoint)
	case AlignSnapshot:
		return fmt.Sprintf("snapshot checkpoint %d", e.Checkpoint)
	case AlignUnblock:
		return fmt.Sprintf("unblock channel %d (checkpoint %d)", e.Channel, e.Checkpoint)
	case AlignEnd:
		return "end"
	}
	return "fail: " + e.Reason
}

// Aligner decides when a subtask with several input channels takes its snapshot, and which channels are held back until
// then. It is the alignment of Chandy-Lamport as Flink uses it. With at_least_once no channel is held back: records behind
// a barrier are then in the snapshot as well, and come again after a recovery.
//
// A channel that has ended counts as aligned. The aligner holds no records and starts nothing: the runtime's gate does as
// it says. It is used from one goroutine.
type Aligner struct {
	mode Mode
	// seen is, per channel, the last barrier that came. Barriers of an attempt are dense, so it only ever grows by one.
	seen    []int64
	blocked []bool
	ended   []bool
	// done is the last checkpoint whose snapshot was taken, newest the last one begun; newest-done are open, and more than
	// one only with at_least_once.
	done, newest int64
	failed       bool
	events       []AlignEvent
}

// NewAligner returns the aligner of a subtask with that many input channels. The first barrier may have any ID.
func NewAligner(channels int, mode Mode) *Aligner {
	return &Aligner{mode: mode, seen: make([]int64, channels), blocked: make([]bool, channels), ended: make([]bool, channels)}
}

// Barrier takes the barrier of a checkpoint on a channel. The events are valid until the next call.
func (a *Aligner) Barrier(channel int, checkpoint int64) []AlignEvent {
	a.events = a.events[:0]
	if a.newest == 0 {
		a.done, a.newest = checkpoint-1, checkpoint-1
		for i := range a.seen {
			a.seen[i] = checkpoint - 1
		}
	}
	switch {
	case a.failed:
		return nil
	case a.ended[channel]:
		return a.fail("channel %d: barrier %d after its end", channel, checkpoint)
	case checkpoint <= a.seen[channel]:
		return a.fail("channel %d: barrier %d after barrier %d", channel, checkpoint, a.seen[channel])
	case checkpoint != a.seen[channel]+1 && a.Open() != 0:
		return a.fail("channel %d: barrier %d while checkpoint %d is open", channel, checkpoint, a.Open())
	case checkpoint != a.seen[channel]+1:
		return a.fail("channel %d: barrier %d, but the next checkpoint is %d", channel, checkpoint, a.seen[channel]+1)
	case a.blocked[channel]:
		return a.fail("channel %d: barrier %d while checkpoint %d is open", channel, checkpoint, a.Open())
	}
	a.seen[channel] = checkpoint
	if checkpoint > a.newest {
		a.newest = checkpoint
		a.emit(AlignBegin, checkpoint, channel)
	}
	if a.mode != AtLeastOnce && !a.complete(checkpoint) {
		a.blocked[channel] = true
		a.emit(AlignBlock, checkpoint, channel)
	}
	a.settle()
	return a.events
}

// End takes the end of a channel. The events are valid until the next call.
func (a *Aligner) End(channel int) []AlignEvent {
	a.events = a.events[:0]
	switch {
	case a.failed:
		return nil
	case a.ended[channel]:
		return a.fail("channel %d: ended twice", channel)
	case a.blocked[channel]:
		return a.fail("channel %d: ended while checkpoint %d holds it back", channel, a.Open())
	}
	a.ended[channel] = true
	a.settle()
	for _, ended := range a.ended {
		if !ended {
			return a.events
		}
	}
	a.emit(AlignEnd, 0, channel)
	return a.events
}

// Open returns the oldest checkpoint that waits for a barrier, 0 if none does.
func (a *Aligner) Open() int64 {
	if a.newest > a.done {
		return a.done + 1
	}
	return 0
}

// Blocked reports whether a channel is held back.
func (a *Aligner) Blocked(channel int) bool { return a.blocked[channel] }

// WaitsFor returns the channels whose barrier of the open checkpoint is still to come, for the message of a checkpoint
// that expired.
func (a *Aligner) WaitsFor() []int {
	var channels []int
	for i, seen := range a.seen {
		if open := a.Open(); open != 0 && seen < open && !a.ended[i] {
			channels = append(channels, i)
		}
	}
	return channels
}

// complete reports whether the barrier of the checkpoint has come on every channel that has not ended.
func (a *Aligner) complete(checkpoint int64) bool {
	for i, seen := range a.seen {
		if seen < checkpoint && !a.ended[i] {
			return false
		}
	}
	return true
}

// settle takes the snapshots that are complete and lets their channels go.
func (a *Aligner) settle() {
	for a.newest > a.done && a.complete(a.done+1) {
		a.done++
		a.emit(AlignSnapshot, a.done, 0)
		for i, blocked := range a.blocked {
			if blocked {
				a.blocked[i] = false
				a.emit(AlignUnblock, a.done, i)
			}
		}
	}
}

func (a *Aligner) emit(kind AlignKind, checkpoint int64, channel int) {
	a.events = append(a.events, AlignEvent{Kind: kind, Checkpoint: checkpoint, Channel: channel})
}

func (a *Aligner) fail(format string, args ...any) []AlignEvent {
	a.failed = true
	a.events = append(a.events, AlignEvent{Kind: AlignFail, Reason: fmt.Sprintf(format, args...)})
	return a.events
}

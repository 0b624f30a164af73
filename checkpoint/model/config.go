package model

import "github.com/weirstream/weir/checkpoint"

// Config is a search: how much of everything there is, and which departure from the protocol is planted.
type Config struct {
	// Processes is 1 to 3. From gives the flag --from to the first so many of them, each time it is started.
	Processes, From int
	// Records is the length of the input, up to 4. Checkpoints is the greatest checkpoint ID: what comes after it is not
	// looked at. At most 14.
	Records, Checkpoints uint8
	// Concurrent is max_concurrent, 1 to 3.
	Concurrent int
	// TransactionVersion is the cluster's: 2 means that a commit bumps the epoch.
	TransactionVersion int
	// Latest lets a first start begin at the input's offset 0 or 1: what "the end" is depends on when it is asked for.
	Latest bool
	// InOrder lets a process fence its slots one after the other; otherwise in every order, as the engine does.
	InOrder bool

	// The faults, each at any moment: a process crashes; a request or its answer is lost, or the request arrives after its sender
	// has given up; the broker times a transaction out; somebody else has a transaction open on the checkpoint partition;
	// the checkpoint topic is deleted and made again.
	Crashes, Network, Timeouts, Strangers, Losses uint8
	// Stale is how many reads of a recovery a node answers that leads no more and does not know it: with what was true before.
	Stale uint8

	// Departure is what the model does otherwise than DESIGN.md says.
	Departure Departure
	// Only looks for violations of this property and no other.
	Only Property
}

// Property is what is to hold. Zero is all of them.
type Property int

const (
	_ Property = iota
	// Output: what a read_committed reader sees is what the plain loop computes, once each, in order.
	Output
	// Dense: a committed checkpoint is the last one plus one (rule 2).
	Dense
	// Group: the group's offset is committed with the pointer, and agrees with it (rule 11).
	Group
	// Once: a request is carried out once, and a start offset resolved once (rule 10).
	Once
	// Stops: who is taken over stops; a job is not stopped by anything else (rule 7).
	Stops
	// Refusal: a start is refused only if the checkpoint topic lost records.
	Refusal
	// Progress: whoever is alone, with no fault to come, reaches the end of the input or ends with a named error.
	Progress
)

var propertyNames = [...]string{"", "output", "dense IDs", "group", "once", "stops", "refusal", "progress"}

func (p Property) String() string { return propertyNames[p] }

// Departure is a planted fault of the protocol.
type Departure int

// The departures, with the rule of DESIGN.md section 1 that each one breaks.
const (
	Faithful             Departure = iota
	SlotPerProcess                 // 1, 2: a process counts its slots for itself
	TwoPoolSizes                   // 1, 2: the first process has two slots
	IntoTransaction                // 1: records behind the barrier go into the transaction before it
	IDsGoBack                      // 2: after --from, IDs go on from the savepoint's
	IDLeftOut                      // 2: an attempt may use an ID up without a commit
	OutOfOrderCommit               // 3: a transaction is committed before the one before it
	OutOfOrderSend                 // 4: records of n+1 are sent before those of n are acknowledged
	PointerBeforeFencing           // 5: the pointer is read first, and then the slots are fenced
	NotEverySlotFenced             // 5: slot 3 is not fenced
	NoStableWait                   // 5: the last stable offset is not waited for
	CommitRetried                  // 6: a commit without an answer is sent again
	QuietNewEpoch                  // 6: a fenced slot gets a new epoch, and the attempt goes on
	LostAnswerIsSuccess            // 6: a commit without an answer is taken for committed
	FencesBack                     // 7: a fenced process recovers, whoever fenced it
	FencedStops                    // 7: a fenced process stops, whoever fenced it
	StopsForOlder                  // 7: a fenced process takes every pointer that is not its own for a newer one's
	SkipAfterBarrier               // 8: a checkpoint whose barrier is out is given up, and the job goes on
	NoFirstCheckpoint              // 10: an attempt reads and writes before it has committed a checkpoint
	RepeatsFrom                    // 10: a start does not look whether its request is carried out
	NoGroup                        // 11: recovery does not look at the group
	GroupReadLast                  // 11: the group is read after the pointer
	LooksOnce                      // 5: an attempt's first commit does not look again whether its pointer was the last
	PointerOutside                 // the one idea: the pointer is committed before the transaction
	departures
)

var departureNames = [...]string{
	"faithful", "slot per process", "two pool sizes", "into transaction", "IDs go back", "ID left out", "out-of-order commit", "out-of-order send",
	"pointer before fencing", "not every slot fenced", "no stable wait", "commit retried", "quiet new epoch", "lost answer is success", "fences back",
	"fenced stops", "stops for older", "skip after barrier", "no first checkpoint", "repeats from", "no group", "group read last", "looks once", "pointer outside",
}

func (d Departure) String() string { return departureNames[d] }

// savepointAt is where the savepoint that --from names stands, and savepointID its checkpoint.
const (
	savepointAt = 1
	savepointID = 1
)

// slotOf is the slot that a process uses for a checkpoint.
func (c *Config) slotOf(p *process, id uint8) uint8 {
	switch c.Departure {
	case SlotPerProcess:
		return (p.count + id - p.at.id - 1) % checkpoint.Slots
	case TwoPoolSizes:
		return id % p.pool
	}
	return uint8(checkpoint.Slot(int64(id)))
}

// every is the set of slots that a recovery fences.
func (c *Config) every(p *process) uint8 {
	if c.Departure == NotEverySlotFenced {
		return 0b0111
	}
	return 1<<p.pool - 1
}

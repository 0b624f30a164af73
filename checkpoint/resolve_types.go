package checkpoint

import "strings"

// Description is the job as it is to run, for the comparison with what was kept.
type Description struct {
	Name          string
	Shard, Shards int
	KeyGroups     int
	// Operators lists all of them. States that are nil are not known yet (they are declared when an operator is opened) and
	// are not compared here: see [CheckStates].
	Operators []Operator
	Sources   []string
	// Topics are those of sources and sinks with the IDs that they have now; a zero ID is not compared.
	Topics []Topic
}

// Start is what a start has found out, after it fenced every slot and waited as rule 5 says.
type Start struct {
	Job     Description
	Request Request
	// Last is the last committed pointer of the shard, complete (with the rest from its file), nil if there is none.
	Last *Pointer
	// LastOffset is the offset of Last in the checkpoint partition.
	LastOffset int64
	// Damage, if set, is why Last cannot be restored: its rest cannot be read, and Last is its head only. Something else may
	// be begun from.
	Damage error
	// Savepoint is the pointer in the manifest of the savepoint that RequestFrom or RequestOffsets names, or that of the
	// checkpoint. It is nil if the request does not need it.
	Savepoint *Pointer
	// Group is the checkpoint ID in the metadata of the group's offset for the checkpoint partition, 0 if the group has no
	// such offset (rule 11). GroupID and Topic are for messages.
	Group          int64
	GroupID, Topic string
	// NewLineage is a UUID for a lineage that begins here.
	NewLineage string
	// Now, in milliseconds since the Unix epoch, is for messages.
	Now int64
}

// ResolutionKind says what a start does.
type ResolutionKind int

const (
	// ResolvedFirst: the job has never run.
	ResolvedFirst ResolutionKind = iota
	// ResolvedContinue: go on from Pointer.
	ResolvedContinue
	// ResolvedSavepoint: a new lineage begins from Pointer, which is the savepoint's or an older checkpoint's.
	ResolvedSavepoint
	// ResolvedFresh: a new lineage begins empty.
	ResolvedFresh
	// ResolvedOffsets: a new lineage begins with the offsets in Pointer, which has nothing else, and with empty state.
	ResolvedOffsets
	// ResolvedEnded: the job has reached the end of its input. Nothing is to be done, nothing is written.
	ResolvedEnded
	// ResolvedRefuse: nothing starts; Err says why.
	ResolvedRefuse
)

// Resolution is the decision of [Resolve].
type Resolution struct {
	Kind ResolutionKind
	// Pointer holds the offsets and the state to begin with, nil to begin empty. What is dropped is not in it any more.
	Pointer *Pointer
	// Last is the last committed checkpoint; the attempt's first one is Last + 1, whatever was restored (rule 2).
	Last int64
	// Lineage and Request go into the attempt's pointers.
	Lineage, Request string
	// Drops goes there too: the names that the lineage has dropped.
	Drops []string
	// Unfinished are savepoints that were under way and are to be finished (rule 13).
	Unfinished []Savepoint
	// Leaves is the last checkpoint, if a lineage begins over it and something can go on from it: it is to be kept, with
	// [WriteLeft]. Left is what was left behind before: it stays if the lineage goes on, or if Leaves cannot be kept.
	Leaves *Pointer
	Left   *Left
	// Note is the line for the log that says what the start begins from; Dropped are those that name each state, each source's
	// offsets and each field that goes.
	Note    string
	Dropped []string
	// Loses: state that nobody named is thrown away, as --on-incompatible=fresh says.
	Loses bool
	// Err is a *RefusedError, or Start.Damage, of ResolvedRefuse.
	Err error
}

// RefusedError is why a job does not start. A restart does not mend it.
type RefusedError struct {
	// What was to be restored ("checkpoint 41", "savepoint ..."), "" if it did not come to that.
	What string
	// Findings are all the reasons, one sentence each.
	Findings []string
}

func (e *RefusedError) Error() string {
	prefix := "restore: "
	if e.What != "" {
		prefix += e.What + ": "
	}
	return prefix + strings.Join(e.Findings, "; ")
}

func refuse(what string, findings ...string) Resolution {
	return Resolution{Kind: ResolvedRefuse, Err: &RefusedError{What: what, Findings: findings}}
}

package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

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
	// Savepoint is the pointer in the manifest of the savepoint that RequestFrom names, or that of the checkpoint. It is nil if
	// the request does not need it.
	Savepoint *Pointer
	// Group is the checkpoint ID in the metadata of the group's offset for the checkpoint partition, 0 if the group has no
	// such offset (rule 11). GroupID and Topic are for messages.
	Group          int64
	GroupID, Topic string
	// NewLineage is a UUID for a lineage that begins here.
	NewLineage string
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
	// ResolvedEnded: the job has reached the end of its input. Nothing is to be done, nothing is written.
	ResolvedEnded
	// ResolvedRefuse: nothing starts; Err says why.
	ResolvedRefuse
)

// Resolution is the decision of [Resolve].
type Resolution struct {
	Kind ResolutionKind
	// Pointer holds the offsets and the state to begin with, nil to begin empty.
	Pointer *Pointer
	// Last is the last committed checkpoint; the attempt's first one is Last + 1, whatever was restored (rule 2).
	Last int64
	// Lineage and Request go into the attempt's pointers.
	Lineage, Request string
	// Unfinished are savepoints that were under way and are to be finished (rule 13).
	Unfinished []Savepoint
	// Note is a line for the log, "" if there is nothing to say.
	Note string
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

// Resolve says what a start does.
func Resolve(s Start) Resolution {
	last := s.Last
	r := Resolution{Last: s.Group, Request: s.Request.String(), Lineage: s.NewLineage}
	if last != nil {
		if finding := foreign(s, last); finding != "" {
			return refuse(fmt.Sprintf("checkpoint %d", last.Checkpoint), finding)
		}
		r.Last = max(last.Checkpoint, s.Group)
		r.Unfinished = last.Unfinished
		if last.Savepoint != "" {
			r.Unfinished = append(slices.Clone(last.Unfinished), Savepoint{Directory: last.Savepoint, Checkpoint: last.Checkpoint, Offset: s.LastOffset})
		}
	}
	carriedOut := last != nil && s.Request.CarriedOut(last.Request)
	switch {
	// A supervisor repeats its flags. Whether they were carried out is not known without the pointer, so they alone do not say
	// that a job with lost records is to begin anew.
	case last == nil && s.Group > 0 && s.Request.Again == "":
		return refuse("", lostRecords(s, "has no checkpoint"))
	case last != nil && s.Group > last.Checkpoint && s.Request.Again == "":
		return refuse("", lostRecords(s, fmt.Sprintf("ends at checkpoint %d", last.Checkpoint)))
	case s.Request.Kind == RequestFresh && !carriedOut:
		r.Kind = ResolvedFresh
		r.Note = "starting empty, as asked for"
		return r
	case s.Request.Kind == RequestFrom && !carriedOut:
		return fromSavepoint(s, r)
	case last == nil:
		r.Kind = ResolvedFirst
		return r
	case s.Group > last.Checkpoint: // since this process carried its request out
		return refuse("", lostRecords(s, fmt.Sprintf("ends at checkpoint %d", last.Checkpoint)))
	}
	return goOn(s, r)
}

// goOn continues the current lineage.
func goOn(s Start, r Resolution) Resolution {
	last := s.Last
	r.Lineage, r.Request, r.Pointer = last.Lineage, last.Request, last
	if last.Final {
		r.Kind = ResolvedEnded
		r.Note = fmt.Sprintf("the job reached the end of its input at checkpoint %d, there is nothing to do: start it with --fresh to run it again, or --from a savepoint", last.Checkpoint)
		return r
	}
	if s.Damage != nil {
		return Resolution{Kind: ResolvedRefuse, Err: s.Damage}
	}
	if findings := CheckRestore(s.Job, last); len(findings) > 0 {
		return refuse(fmt.Sprintf("checkpoint %d", last.Checkpoint), findings...)
	}
	r.Kind = ResolvedContinue
	if s.Request.Kind != RequestNone {
		r.Note = fmt.Sprintf("this lineage began with %s: going on from checkpoint %d (--again begins anew)", describe(s.Request), last.Checkpoint)
	}
	return r
}

func fromSavepoint(s Start, r Resolution) Resolution {
	what := beginning(s.Request.ID)
	switch {
	case s.Savepoint == nil:
		return refuse(what, "it was not read")
	case s.Savepoint.Final:
		return refuse(what, "it was taken at the end of the input, so there is nothing to go on with")
	}
	if findings := CheckRestore(s.Job, s.Savepoint); len(findings) > 0 {
		return refuse(what, findings...)
	}
	r.Kind, r.Pointer = ResolvedSavepoint, s.Savepoint
	switch {
	case !strings.HasPrefix(s.Request.ID, FromCheckpointPrefix):
		r.Note = fmt.Sprintf("a new lineage begins from %s (its checkpoint %d)", what, s.Savepoint.Checkpoint)
	case s.Last == nil:
		r.Note = fmt.Sprintf("a new lineage begins from %s", what)
	default:
		r.Note = fmt.Sprintf("a new lineage begins from %s: it %s", what, NewGoBack(s.Last, s.Savepoint).repeats())
	}
	return r
}

func describe(r Request) string {
	switch {
	case r.Kind != RequestFrom:
		return "--fresh"
	case strings.HasPrefix(r.ID, FromCheckpointPrefix):
		return "--from " + r.ID
	}
	return "--from this savepoint"
}

// lostRecords is rule 11: the group is committed in the same transactions as the pointers, so it is never ahead of them.
func lostRecords(s Start, ends string) string {
	return fmt.Sprintf("group %s is at checkpoint %d but topic %s %s: the topic lost records (deleted, made again or truncated); start from a savepoint (--from and --again) or empty (--fresh and --again)",
		s.GroupID, s.Group, s.Topic, ends)
}

// foreign says why a pointer is not this job's, "" if it is (C08).
func foreign(s Start, p *Pointer) string {
	switch {
	case p.Job != s.Job.Name:
		return fmt.Sprintf("topic %s belongs to job %q, not to %q: give one of them another prefix", s.Topic, p.Job, s.Job.Name)
	case p.Shard != s.Job.Shard:
		return fmt.Sprintf("the pointer is of shard %d, not of %d", p.Shard, s.Job.Shard)
	}
	names := map[string]bool{}
	for _, o := range p.Operators {
		names[o.Name] = true
	}
	for _, src := range p.Sources {
		names[src.Name] = true
	}
	for _, t := range p.Topics {
		names[t.Step] = true
	}
	if len(names) == 0 {
		return ""
	}
	for _, o := range s.Job.Operators {
		if names[o.Name] {
			return ""
		}
	}
	for _, name := range s.Job.Sources {
		if names[name] {
			return ""
		}
	}
	for _, t := range s.Job.Topics {
		if names[t.Step] {
			return ""
		}
	}
	return fmt.Sprintf("another job is called %q too: no operator, source or sink of its last checkpoint (host %s) is in this one: give one of them another name or prefix", p.Job, p.Host)
}

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

// Resolve says what a start does.
func Resolve(s Start) Resolution {
	r := resolve(s)
	r.Leaves, r.Left = s.leaving(r.Kind)
	return r
}

func resolve(s Start) Resolution {
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
		r.Kind, r.Drops = ResolvedFresh, s.recorded(nil) // nothing is left to drop
		r.Note = "begins empty, as asked for" + s.leaves()
		return r
	case s.Request.Kind == RequestFrom && !carriedOut:
		return fromSavepoint(s, r)
	case s.Request.Kind == RequestOffsets && !carriedOut:
		return fromOffsets(s, r)
	case last == nil && s.Group > 0: // --again goes with a request, and this is none that begins a lineage
		return refuse("", lostRecords(s, "has no checkpoint"))
	case last == nil:
		return first(s, r)
	case s.Group > last.Checkpoint: // since this process carried its request out
		return refuse("", lostRecords(s, fmt.Sprintf("ends at checkpoint %d", last.Checkpoint)))
	}
	return goOn(s, r)
}

func first(s Start, r Resolution) Resolution {
	if len(s.Request.Drop) > 0 {
		return refuse("", fmt.Sprintf("--drop-state %s: the job has no checkpoint yet, so there is nothing to drop", strings.Join(s.Request.Drop, ", ")))
	}
	if unknown := s.unknownPolicies(&Pointer{}, nil); len(unknown) > 0 {
		return refuse("", unknown...)
	}
	r.Kind, r.Drops = ResolvedFirst, s.recorded(nil)
	r.Note = "first start: the job has no checkpoint, and its sources begin where their start says"
	return r
}

// goOn continues the current lineage.
func goOn(s Start, r Resolution) Resolution {
	last := s.Last
	r.Lineage, r.Request, r.Pointer, r.Drops = last.Lineage, last.Request, last, last.Drops
	if last.Final {
		r.Kind = ResolvedEnded
		r.Note = fmt.Sprintf("the job reached the end of its input at checkpoint %d, there is nothing to do: start it with --fresh to run it again, or --from a savepoint", last.Checkpoint)
		if last.Drained {
			r.Note = fmt.Sprintf("the job was drained at checkpoint %d (%s)", last.Checkpoint, s.age(last))
		}
		return r
	}
	if s.Damage != nil {
		return Resolution{Kind: ResolvedRefuse, Err: s.Damage}
	}
	f := s.fit(last, last.Drops)
	switch what := fmt.Sprintf("checkpoint %d", last.Checkpoint); {
	case f.refused && s.Request.Incompatible.Fresh && !f.unknown:
		// The next start with the same flags has a lineage whose request is carried out.
		return empty(s, r, what, f, asEmptied(last.Request))
	case f.refused:
		return refuse(what, f.findings...)
	}
	r.Kind, r.Pointer, r.Dropped = ResolvedContinue, f.pointer, f.dropped
	r.Drops = s.recorded(last.Drops)
	r.Note = fmt.Sprintf("continues from checkpoint %d (%s) of lineage %s", last.Checkpoint, s.age(last), shortUUID(last.Lineage))
	if s.Request.Kind != RequestNone {
		r.Note += fmt.Sprintf(", which began with %s (--again begins anew)", describe(s.Request))
	}
	if len(f.done) > 0 {
		r.Note += fmt.Sprintf("; --drop-state %s was carried out before (--again drops once more)", strings.Join(f.done, ", "))
	}
	return r
}

// empty begins a lineage of its own without state, since what there was does not fit and the policy says so.
func empty(s Start, r Resolution, what string, f fitting, request string) Resolution {
	r.Kind, r.Pointer, r.Lineage, r.Request, r.Loses = ResolvedFresh, nil, s.NewLineage, request, true
	r.Drops = s.recorded(nil)
	r.Note = fmt.Sprintf("begins empty, as --on-incompatible=fresh says, since %s does not fit: %s", what, strings.Join(f.findings, "; ")) + s.leaves()
	return r
}

func fromSavepoint(s Start, r Resolution) Resolution {
	what := beginning(s.Request.ID)
	switch {
	case s.Savepoint == nil:
		return refuse(what, "it was not read")
	case s.Savepoint.Drained:
		return refuse(what, drainedFinding+"--fresh --offsets-from takes its offsets alone")
	case s.Savepoint.Final:
		return refuse(what, "it was taken at the end of the input, so there is nothing to go on with")
	}
	f := s.fit(s.Savepoint, nil)
	switch {
	case f.refused && s.Request.Incompatible.Fresh && !f.unknown:
		return empty(s, r, what, f, asEmptied(s.Request.String()))
	case f.refused:
		return refuse(what, f.findings...)
	}
	r.Kind, r.Pointer, r.Dropped = ResolvedSavepoint, f.pointer, f.dropped
	r.Drops = s.recorded(nil)
	r.Note = "a new lineage begins from " + s.place(what)
	return r
}

// fromOffsets begins with the offsets of a savepoint and without its state: watermarks, and what each split has seen of
// event time, begin anew with it.
func fromOffsets(s Start, r Resolution) Resolution {
	what := beginning(s.Request.ID)
	switch {
	case s.Savepoint == nil:
		return refuse(what, "it was not read")
	case s.Savepoint.Final && !s.Savepoint.Drained:
		return refuse(what, "it was taken at the end of the input, so there is nothing to go on with")
	}
	d := drop(s.Job, s.Savepoint, s.Request.Drop, nil, "")
	d.unknown = append(d.unknown, s.unknownPolicies(s.Savepoint, nil)...)
	offsets := offsetsOf(s.Job, d.pointer)
	misfits := append(findings(Fit(s.Job, offsets)), d.unknown...)
	switch {
	case len(misfits) > 0 && s.Request.Incompatible.Fresh && len(d.unknown) == 0:
		return empty(s, r, what, fitting{findings: misfits}, asEmptied(s.Request.String()))
	case len(misfits) > 0:
		return refuse(what, misfits...)
	}
	r.Kind, r.Pointer = ResolvedOffsets, offsets
	r.Drops = s.recorded(nil)
	r.Note = "a new lineage begins with empty state and with the offsets of " + s.place(what)
	return r
}

// offsetsOf is a pointer with the offsets of another one and nothing else. Where an input ends is found out anew.
func offsetsOf(job Description, p *Pointer) *Pointer {
	out := &Pointer{Job: p.Job, Shard: p.Shard, Shards: job.Shards, Checkpoint: p.Checkpoint, Lineage: p.Lineage, Time: p.Time, KeyGroups: job.KeyGroups}
	for _, t := range p.Topics {
		if t.Role == "source" {
			out.Topics = append(out.Topics, t)
		}
	}
	for _, src := range p.Sources {
		src.Splits = slices.Clone(src.Splits)
		for i := range src.Splits {
			split := &src.Splits[i]
			split.MaxTimestamps, split.Stop, split.Done = nil, -1, false
		}
		out.Sources = append(out.Sources, src)
	}
	return out
}

// fitting is what a start can take over of a pointer.
type fitting struct {
	dropping
	refused bool
	// unknown: among the findings are names that nothing has, a mistake that no policy covers.
	unknown  bool
	findings []string
}

// fit drops what is to be dropped and says what does not fit then. recorded are the names that the lineage has dropped.
func (s Start) fit(p *Pointer, recorded []string) fitting {
	f := fitting{dropping: drop(s.Job, p, s.Request.Drop, recorded, s.Request.Again)}
	f.dropping.unknown = append(f.dropping.unknown, s.unknownPolicies(p, recorded)...)
	misfits := Fit(s.Job, f.pointer)
	var drops []string
	for _, m := range misfits {
		switch {
		case !names(s.Request.Incompatible.Drop, m):
		case m.Source != "":
			drops = append(drops, m.Drop)
		case m.State == "":
			drops = append(drops, m.Operator)
		default:
			drops = append(drops, m.Operator+"/"+m.State)
		}
	}
	if len(drops) > 0 {
		more := drop(s.Job, f.pointer, drops, nil, "")
		for _, what := range more.dropped {
			f.dropped = append(f.dropped, what+", since it does not fit")
		}
		f.pointer = more.pointer
		misfits = Fit(s.Job, f.pointer)
	}
	for i, m := range misfits {
		if m.Drop != "" && slices.ContainsFunc(f.done, func(name string) bool { return names([]string{name}, m) }) {
			misfits[i].Finding += " (this lineage has carried that out before: it needs --again)"
		}
	}
	f.dropped = append(f.dropped, LostFields(f.pointer.Operators, s.Job.Operators)...)
	f.findings, f.unknown = append(findings(misfits), f.dropping.unknown...), len(f.dropping.unknown) > 0
	f.refused = len(f.findings) > 0
	return f
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

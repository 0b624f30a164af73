package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

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

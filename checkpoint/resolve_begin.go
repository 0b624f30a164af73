package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

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

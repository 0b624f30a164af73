package checkpoint

import (
	"fmt"
	"slices"
)

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

package checkpoint

import (
	"fmt"
	"slices"
)

// CheckRestore says what of a pointer does not fit the job, all of it. An operator, source, sink or state that is new is
// fine: it begins empty. What the pointer has and the job has not would be lost silently, so it is a finding.
func CheckRestore(job Description, p *Pointer) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if p.Shards != job.Shards {
		add("it has %d shards, the job has %d", p.Shards, job.Shards)
	}
	if p.KeyGroups != job.KeyGroups {
		add("it has %d key groups, the job has %d: key_groups is fixed at the first start", p.KeyGroups, job.KeyGroups)
	}
	for _, src := range p.Sources {
		if !slices.Contains(job.Sources, src.Name) {
			add("source %q was read but the job has no such source: was it renamed?", src.Name)
		}
	}
	out = append(out, CheckStates(p.Operators, job.Operators)...)
	return append(out, checkTopics(p.Topics, job.Topics)...)
}

// CheckStates says which restored states do not fit the operators that a job has now, all of them. An operator whose
// States are nil has not declared them yet and is compared by name only.
func CheckStates(restored, now []Operator) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, old := range restored {
		if len(old.States) == 0 {
			continue
		}
		i := slices.IndexFunc(now, func(o Operator) bool { return o.Name == old.Name })
		if i < 0 {
			add("operator %q has state but the job has no such operator: was it renamed?", old.Name)
			continue
		}
		if now[i].States == nil {
			continue
		}
		for _, was := range old.States {
			j := slices.IndexFunc(now[i].States, func(s State) bool { return s.Name == was.Name })
			if j < 0 {
				add("operator %q: state %q is not there any more: was it renamed?", old.Name, was.Name)
				continue
			}
			is := now[i].States[j]
			switch {
			case is.Kind != was.Kind:
				add("operator %q: state %q was a %s and is a %s", old.Name, was.Name, was.Kind, is.Kind)
			case is.Type != was.Type:
				add("operator %q: state %q was of type %s and is of type %s", old.Name, was.Name, was.Type, is.Type)
			case is.Version != was.Version:
				add("operator %q: state %q was written by version %d of its codec, the job has version %d", old.Name, was.Name, was.Version, is.Version)
			}
		}
	}
	return out
}

// checkTopics is rule 12: a topic with another ID was deleted and made again, so its offsets mean other records.
func checkTopics(restored, now []Topic) []string {
	var out []string
	for _, was := range restored {
		i := slices.IndexFunc(now, func(t Topic) bool { return t.Role == was.Role && t.Step == was.Step && t.Name == was.Name })
		switch {
		case i < 0 && was.Role == "source" && slices.ContainsFunc(now, func(t Topic) bool { return t.Role == "source" && t.Step == was.Step }):
			out = append(out, fmt.Sprintf("source %q: topic %s was read but is not among its topics any more", was.Step, was.Name))
		case i >= 0 && was.ID != (TopicID{}) && now[i].ID != (TopicID{}) && now[i].ID != was.ID:
			out = append(out, fmt.Sprintf("%s %q: topic %s was deleted and made again (its ID was %s and is %s)", was.Role, was.Step, was.Name, was.ID, now[i].ID))
		}
	}
	return out
}

package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// Misfit is one thing of a pointer that a job cannot take over.
type Misfit struct {
	// Operator and State, or Source, are what it is about; all are empty if it is none of these.
	Operator, State, Source string
	// Drop is what --drop-state has to name to start without it, "" if that is no remedy.
	Drop string
	// Finding is the sentence that says what does not fit, with its remedy.
	Finding string
}

// Fit says what of a pointer does not fit the job, all of it. An operator, source, sink or state that is new is fine: it
// begins empty. What the pointer has and the job has not would be lost silently, so it is a finding.
func Fit(job Description, p *Pointer) []Misfit {
	var out []Misfit
	add := func(format string, args ...any) { out = append(out, Misfit{Finding: fmt.Sprintf(format, args...)}) }
	if p.Shards != job.Shards {
		add("it has %d shards, the job has %d", p.Shards, job.Shards)
	}
	if p.KeyGroups != job.KeyGroups {
		add("it has %d key groups, the job has %d: key_groups is fixed at the first start", p.KeyGroups, job.KeyGroups)
	}
	for _, src := range p.Sources {
		if !slices.Contains(job.Sources, src.Name) {
			out = append(out, Misfit{Source: src.Name, Drop: src.Name, Finding: fmt.Sprintf(
				"source %q was read but the job has no such source: was it renamed? (--drop-state %s drops its offsets)", src.Name, src.Name)})
		}
	}
	for _, o := range p.Operators {
		out = append(out, misfitsOf(job, o)...)
	}
	for _, finding := range checkTopics(p.Topics, job.Topics) {
		add("%s", finding)
	}
	return out
}

// misfitsOf is Fit for one operator, with a misfit for each state. Those of an operator that is gone have one sentence.
func misfitsOf(job Description, o Operator) []Misfit {
	gone := !slices.ContainsFunc(job.Operators, func(is Operator) bool { return is.Name == o.Name })
	var states []string
	for _, s := range o.States {
		states = append(states, s.Name)
	}
	var out []Misfit
	for _, s := range o.States {
		one := o
		one.States = []State{s}
		findings := CheckStates([]Operator{one}, job.Operators)
		if len(findings) == 0 {
			continue
		}
		m := Misfit{Operator: o.Name, State: s.Name, Drop: o.Name + "/" + s.Name}
		dropped := "it"
		if gone {
			m.Drop, dropped = o.Name, strings.Join(states, ", ")
		}
		m.Finding = fmt.Sprintf("%s (--drop-state %s drops %s)", strings.Join(findings, "; "), m.Drop, dropped)
		out = append(out, m)
	}
	return out
}

// findings are the sentences of misfits, each once.
func findings(misfits []Misfit) []string {
	var out []string
	for _, m := range misfits {
		if !slices.Contains(out, m.Finding) {
			out = append(out, m.Finding)
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

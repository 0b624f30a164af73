package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// Misfit is one thing of a pointer that a job cannot take over.
type Misfit struct {
	// Operator and State, or Source and, if it is about one of its topics, Topic are what it is about; all are empty if it is
	// none of these.
	Operator, State, Source, Topic string
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
				"source %q was read but the job has no such source: was it renamed? (%s; --drop-state %s drops its offsets: what reads its topics then reads them again)",
				src.Name, renaming(src.Name), src.Name)})
		}
	}
	for _, o := range p.Operators {
		out = append(out, misfitsOf(job, o)...)
	}
	return append(out, checkTopics(p.Topics, job.Topics)...)
}

// renaming is how a step is given another name without losing anything.
func renaming(name string) string {
	return fmt.Sprintf("savepoint rewrite --rename %s=NEW makes a savepoint that keeps it", name)
}

// quoted is a name as a shell takes it.
func quoted(name string) string {
	if strings.ContainsRune(name, ' ') {
		return `"` + name + `"`
	}
	return name
}

// misfitsOf is Fit for one operator, with a misfit for each state. Those of an operator that is gone have one sentence.
func misfitsOf(job Description, o Operator) []Misfit {
	gone := !slices.ContainsFunc(job.Operators, func(is Operator) bool { return is.Name == o.Name })
	var states []string
	for _, s := range o.States {
		states = append(states, s.Name)
	}
	var out []Misfit
	if i := slices.IndexFunc(job.Operators, func(is Operator) bool { return is.Name == o.Name }); len(o.States) > 0 && i >= 0 {
		if is := job.Operators[i].Keys; o.Keys != "" && is != "" && is != o.Keys {
			// No state of it can be kept: a policy that names one of them does not help.
			return []Misfit{{Operator: o.Name, Drop: o.Name, Finding: fmt.Sprintf(
				"operator %q: its keys were %s and are %s: state of other keys would mix (--drop-state %s drops %s; if only the text is another one, savepoint rewrite --accept-keys %s makes a savepoint that keeps it)",
				o.Name, o.Keys, is, o.Name, strings.Join(states, ", "), o.Name)}}
		}
	}
	for _, s := range o.States {
		one := o
		one.States = []State{s}
		findings := CheckStates([]Operator{one}, job.Operators)
		if len(findings) == 0 {
			continue
		}
		m := Misfit{Operator: o.Name, State: s.Name, Drop: o.Name + "/" + s.Name}
		remedy := fmt.Sprintf("--drop-state %s drops it", quoted(m.Drop))
		switch of := ttlOf(o.States, s.Name); {
		case gone:
			m.Drop = o.Name
			remedy = fmt.Sprintf("%s; --drop-state %s drops %s", renaming(o.Name), o.Name, strings.Join(states, ", "))
		case of != "" && declares(job, o.Name, of):
			remedy = fmt.Sprintf("--drop-state %s takes the ttl out, and the values of %s stay", quoted(m.Drop), of)
		case hasColumns(s):
			remedy += " with all its columns"
		}
		m.Finding = fmt.Sprintf("%s (%s)", strings.Join(findings, "; "), remedy)
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
func checkTopics(restored, now []Topic) []Misfit {
	var out []Misfit
	for _, was := range restored {
		i := slices.IndexFunc(now, func(t Topic) bool { return t.Role == was.Role && t.Step == was.Step && t.Name == was.Name })
		switch {
		case i < 0 && was.Role == "source" && slices.ContainsFunc(now, func(t Topic) bool { return t.Role == "source" && t.Step == was.Step }):
			drop := was.Step + "/" + was.Name
			out = append(out, Misfit{Source: was.Step, Topic: was.Name, Drop: drop, Finding: fmt.Sprintf(
				"source %q: topic %s was read but is not among its topics any more (--drop-state %s drops its offsets)", was.Step, was.Name, drop)})
		case i >= 0 && was.ID != (TopicID{}) && now[i].ID != (TopicID{}) && now[i].ID != was.ID:
			out = append(out, Misfit{Finding: fmt.Sprintf("%s %q: topic %s was deleted and made again (its ID was %s and is %s)", was.Role, was.Step, was.Name, was.ID, now[i].ID)})
		}
	}
	return out
}

// ttlEndings end the names of the states that a TTL keeps for another state: when an entry expires, and the timers for it.
var ttlEndings = []string{" until", " due"}

// ttlOf is the state that a state keeps the TTL of, "" if it is none of these.
func ttlOf(states []State, name string) string {
	for _, ending := range ttlEndings {
		of, ok := strings.CutSuffix(name, ending)
		if ok && slices.ContainsFunc(states, func(s State) bool { return s.Name == of }) {
			return of
		}
	}
	return ""
}

// hasColumns reports that the values of a state consist of columns, one for each aggregate of a YAML step.
func hasColumns(s State) bool {
	schema, err := ParseSchema(s.Schema)
	return err == nil && s.Schema != "" && schema.Columns != nil
}

// meansState reports whether a name of a state means another one too: what its TTL keeps goes with it.
func meansState(states []State, name, state string) bool {
	return name == state || ttlOf(states, state) == name
}

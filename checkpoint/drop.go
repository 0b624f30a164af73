package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dropping is what becomes of a pointer by the names that a start was given.
type dropping struct {
	// pointer is without what was dropped: the pointer itself if that is nothing.
	pointer *Pointer
	// dropped says what was, one sentence each; done are names that the lineage has dropped before.
	dropped, done []string
	// unknown are findings: names that nothing has, and sources that the job has still.
	unknown []string
}

// drop leaves out what the names say. What is recorded in the pointer as dropped already is not dropped again as long as the
// job has it: a supervisor repeats the name at every restart, and the state has been filled anew since.
func drop(job Description, p *Pointer, names, recorded []string, again string) dropping {
	d := dropping{pointer: p}
	out := *p
	out.Operators, out.Sources = slices.Clone(p.Operators), slices.Clone(p.Sources)
	out.Dropped = slices.Clone(p.Dropped)
	for _, name := range names {
		before := slices.ContainsFunc(recorded, func(r string) bool { return r == name+"#"+again && again != "" || again == "" && baseName(r) == name })
		found, kept := false, false
		op, state, one := strings.Cut(name, "/")
		for i := range out.Operators {
			o := &out.Operators[i]
			if o.Name != op {
				continue
			}
			all := o.States
			o.States = slices.DeleteFunc(slices.Clone(all), func(s State) bool {
				switch {
				case one && !meansState(all, state, s.Name):
					return false
				case before && declares(job, op, s.Name):
					kept = true
					return false
				}
				found = true
				out.Dropped = append(out.Dropped, s.ID)
				d.dropped = append(d.dropped, fmt.Sprintf("operator %q: state %q (%s of %s) is dropped", op, s.Name, s.Kind, s.Type))
				return true
			})
		}
		if i := slices.IndexFunc(out.Sources, func(s Source) bool { return one && s.Name == op }); i >= 0 {
			topic := state
			switch dropped := dropTopic(&out, i, topic); {
			case reads(job, op, topic) && dropped > 0:
				d.unknown = append(d.unknown, fmt.Sprintf("--drop-state %s: source %q reads topic %s still: its offsets are not state to drop (savepoint rewrite moves them, --fresh begins anew)", name, op, topic))
				continue
			case dropped > 0:
				found = true
				d.dropped = append(d.dropped, fmt.Sprintf("source %q: the offsets of the %d partitions of topic %s are dropped", op, dropped, topic))
			}
		}
		if i := slices.IndexFunc(out.Sources, func(s Source) bool { return s.Name == name }); i >= 0 {
			if slices.Contains(job.Sources, name) {
				d.unknown = append(d.unknown, fmt.Sprintf("--drop-state %s: the job reads source %q: its offsets are not state to drop (savepoint rewrite moves them, --fresh begins anew)", name, name))
				continue
			}
			found = true
			d.dropped = append(d.dropped, fmt.Sprintf("source %q: the offsets of its %d partitions are dropped%s", name, len(out.Sources[i].Splits), readAnew(job, out.Sources[i], hasState(&out))))
			out.Sources = slices.Delete(out.Sources, i, i+1)
			out.Topics = slices.DeleteFunc(slices.Clone(out.Topics), func(t Topic) bool { return t.Step == name })
		}
		if kept {
			d.done = append(d.done, name)
		}
		switch {
		case kept:
		case !found && !before && !slices.ContainsFunc(p.Drops, func(r string) bool { return baseName(r) == name }):
			d.unknown = append(d.unknown, fmt.Sprintf("--drop-state %s: nothing is called so: there is %s", name, whatThereIs(p)))
		}
	}
	if len(d.dropped) == 0 {
		return d
	}
	slices.Sort(out.Dropped)
	out.Dropped = slices.Compact(out.Dropped)
	if !hasState(&out) {
		out.Base, out.Deltas = nil, nil // nobody reads them
	}
	d.pointer = &out
	return d
}

// dropTopic takes a topic out of a source and returns how many partitions of it there were. The slices are not shared.
func dropTopic(p *Pointer, source int, topic string) (n int) {
	src := &p.Sources[source]
	before := len(src.Splits)
	src.Splits = slices.DeleteFunc(slices.Clone(src.Splits), func(s Split) bool { return s.Topic == topic })
	n = before - len(src.Splits)
	topics := len(p.Topics)
	p.Topics = slices.DeleteFunc(slices.Clone(p.Topics), func(t Topic) bool {
		return t.Role == "source" && t.Step == src.Name && t.Name == topic
	})
	return max(n, topics-len(p.Topics))
}

// reads reports whether a source of the job reads a topic.
func reads(job Description, source, topic string) bool {
	return slices.ContainsFunc(job.Topics, func(t Topic) bool { return t.Role == "source" && t.Step == source && t.Name == topic })
}

// readAnew says which sources of the job begin anew on topics whose offsets are dropped with another source, "" if none does.
// Records that were read before then come into what state is kept a second time.
func readAnew(job Description, gone Source, state bool) string {
	var readers []string
	for _, t := range job.Topics {
		if t.Role == "source" && t.Step != gone.Name && slices.ContainsFunc(gone.Splits, func(s Split) bool { return s.Topic == t.Name }) {
			readers = append(readers, fmt.Sprintf("source %q reads topic %s from where its start says", t.Step, t.Name))
		}
	}
	if len(readers) == 0 {
		return ""
	}
	out := ": " + strings.Join(readers, ", ") + ", so that records are read again and their results written a second time"
	if state {
		out += ", also into state that is kept and has them already"
	}
	return out
}

func hasState(p *Pointer) bool {
	return slices.ContainsFunc(p.Operators, func(o Operator) bool { return len(o.States) > 0 })
}

// baseName is a recorded name without its --again.
func baseName(recorded string) string {
	name, _, _ := strings.Cut(recorded, "#")
	return name
}

// declares reports whether the job has a state. An operator whose states are not known may have it.
func declares(job Description, operator, state string) bool {
	return slices.ContainsFunc(job.Operators, func(o Operator) bool {
		return o.Name == operator && (o.States == nil || slices.ContainsFunc(o.States, func(s State) bool { return s.Name == state }))
	})
}

// record adds names to those that a lineage has dropped.
func record(recorded, names []string, again string) []string {
	for _, name := range names {
		recorded = slices.DeleteFunc(slices.Clone(recorded), func(r string) bool { return baseName(r) == name })
		if again != "" {
			name += "#" + again
		}
		recorded = append(recorded, name)
	}
	return recorded
}

// whatThereIs lists what of a pointer can be dropped by name.
func whatThereIs(p *Pointer) string {
	var out []string
	for _, o := range p.Operators {
		for _, s := range o.States {
			out = append(out, o.Name+"/"+s.Name)
		}
	}
	for _, s := range p.Sources {
		out = append(out, "source "+s.Name)
		topics := map[string]bool{}
		for _, split := range s.Splits {
			topics[split.Topic] = true
		}
		if len(topics) > 1 {
			out[len(out)-1] += fmt.Sprintf(" (%s)", strings.Join(slices.Sorted(maps.Keys(topics)), ", "))
		}
	}
	if len(out) == 0 {
		return "no state"
	}
	return strings.Join(out, ", ")
}

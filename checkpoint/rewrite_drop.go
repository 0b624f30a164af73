package checkpoint

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// contradictions reports offsets that are to be set and dropped at once.
func (r *rewriting) contradictions() {
	keys := slices.SortedFunc(maps.Keys(r.e.SetOffset), func(a, b SplitKey) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	for _, src := range r.p.Sources {
		for _, drop := range r.e.DropState {
			i := slices.IndexFunc(keys, func(k SplitKey) bool {
				return (k.Source == src.Name || k.Source == "") && (drop == src.Name || drop == src.Name+"/"+k.Topic) &&
					slices.ContainsFunc(src.Splits, func(s Split) bool { return s.Topic == k.Topic && s.Partition == k.Partition })
			})
			if i >= 0 {
				r.wrong("set-offset %s: drop-state %s drops that offset", keys[i], drop)
			}
		}
	}
}

// drop takes states out, and keeps their numbers from being given to others.
func (r *rewriting) drop() {
	known := map[string]bool{}
	for i, o := range r.p.Operators {
		if len(o.States) == 0 {
			continue
		}
		known[o.Name], r.had[o.Name] = true, true
		var left []State
		for _, s := range o.States {
			name := o.Name + "/" + s.Name
			known[name] = true
			if !slices.ContainsFunc(r.e.DropState, func(drop string) bool {
				step, state, one := strings.Cut(drop, "/")
				return step == o.Name && (!one || meansState(o.States, state, s.Name))
			}) {
				left = append(left, s)
				continue
			}
			r.p.Dropped = append(r.p.Dropped, s.ID)
			r.tell(Effect{Kind: EffectDrop, Step: o.Name, State: s.Name}, "operator %q: state %q (%s of %s) is dropped", o.Name, s.Name, s.Kind, s.Type)
		}
		r.p.Operators[i].States = left
	}
	for _, src := range r.p.Sources {
		r.hadSplits[src.Name] = len(src.Splits) > 0
	}
	r.dropTopics(known)
	r.p.Sources = slices.DeleteFunc(r.p.Sources, func(src Source) bool {
		known[src.Name] = true
		if !slices.Contains(r.e.DropState, src.Name) {
			return false
		}
		r.p.Topics = slices.DeleteFunc(r.p.Topics, func(t Topic) bool { return t.Role == "source" && t.Step == src.Name })
		r.tell(Effect{Kind: EffectDrop, Step: src.Name}, "source %q: its offsets are dropped: a job that has it, or another source of its topics, begins there where its start says: what was read before is read again, also into state that is kept", src.Name)
		return true
	})
	slices.Sort(r.p.Dropped)
	r.p.Dropped = slices.Compact(r.p.Dropped)
	maps.DeleteFunc(known, func(_ string, is bool) bool { return !is })
	have := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.e.DropState))) {
		switch {
		case known[name]:
		case len(have) == 0:
			r.wrong("drop-state %s: the savepoint has no state and no offsets", name)
		default:
			r.wrong("drop-state %s: there is no such state: it has %s", name, some(have))
		}
	}
}

// dropTopics takes topics out of sources. known gets the names that mean one.
func (r *rewriting) dropTopics(known map[string]bool) {
	for i := range r.p.Sources {
		src := r.p.Sources[i]
		topics := map[string]bool{}
		for _, s := range src.Splits {
			topics[s.Topic] = true
		}
		for _, topic := range slices.Sorted(maps.Keys(topics)) {
			name := src.Name + "/" + topic
			drops := slices.Contains(r.e.DropState, name)
			known[name] = drops || len(topics) > 1 // of one topic the source's name says it
			if !drops {
				continue
			}
			n := dropTopic(r.p, i, topic)
			r.tell(Effect{Kind: EffectDrop, Step: src.Name}, "source %q: the offsets of the %d partitions of topic %s are dropped: a job that reads it begins there where its start says", src.Name, n, topic)
		}
	}
}

// acceptKeys forgets what the keys of operators were, so that a start does not compare them.
func (r *rewriting) acceptKeys() {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.e.AcceptKeys))) {
		i := slices.IndexFunc(r.p.Operators, func(o Operator) bool { return o.Name == name && o.Keys != "" })
		if i < 0 {
			r.wrong("accept-keys %s: no operator of that name has keys that are known", name)
			continue
		}
		r.tell(Effect{Kind: EffectKeys, Step: name}, "operator %q: its keys were %s: a start does not compare them, and mixes state if they are others", name, r.p.Operators[i].Keys)
		r.p.Operators[i].Keys = ""
	}
}

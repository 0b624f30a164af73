package checkpoint

import (
	"cmp"
	"maps"
	"slices"
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

package checkpoint

import (
	"cmp"
	"maps"
	"slices"
)

// rename gives steps other names wherever the pointer has them.
func (r *rewriting) rename() {
	r.makeRoom()
	names := map[string]string{} // by old name, what it is
	for _, o := range r.p.Operators {
		names[o.Name] = "operator"
	}
	for _, t := range r.p.Topics {
		names[t.Step] = cmp.Or(t.Role, "step")
	}
	for _, s := range r.p.Sources {
		names[s.Name] = "source"
	}
	taken := map[string]string{} // by new name, whose it is
	for _, old := range slices.Sorted(maps.Keys(names)) {
		if _, moves := r.e.Rename[old]; !moves {
			taken[old] = old
		}
	}
	for _, old := range slices.Sorted(maps.Keys(r.e.Rename)) {
		name := r.e.Rename[old]
		switch what, ok := names[old]; {
		case !ok:
			r.wrong("rename %s=%s: there is no step %q: it has %s", old, name, old, some(slices.Sorted(maps.Keys(names))))
		case name == "":
			r.wrong("rename %s=: the new name is missing", old)
		case name == old:
			r.wrong("rename %s=%s: that is its name", old, name)
		case taken[name] == name:
			r.wrong("rename %s=%s: there is a step %q already", old, name, name)
		case taken[name] != "":
			r.wrong("rename %s=%s: %s is to have that name too", old, name, taken[name])
		default:
			taken[name] = old
			r.tell(Effect{Kind: EffectRename, Step: old}, "%s %q is %q now", what, old, name)
		}
	}
	to := func(name string) string { return cmp.Or(r.e.Rename[name], name) }
	for i := range r.p.Operators {
		r.p.Operators[i].Name = to(r.p.Operators[i].Name)
	}
	for i := range r.p.Topics {
		r.p.Topics[i].Step = to(r.p.Topics[i].Step)
	}
	for i := range r.p.Sources {
		r.p.Sources[i].Name = to(r.p.Sources[i].Name)
		for j, s := range r.p.Sources[i].Splits {
			if s.MaxTimestamps == nil {
				continue
			}
			seen := make(map[string]int64, len(s.MaxTimestamps))
			for step, ts := range s.MaxTimestamps {
				seen[to(step)] = ts
			}
			r.p.Sources[i].Splits[j].MaxTimestamps = seen
		}
	}
}

// makeRoom takes out steps of which nothing is left after the drops, if another one is to have their name: it would be that of
// two. What they knew besides, their watermark and their keys, is nothing without their state.
func (r *rewriting) makeRoom() {
	wanted := func(name string) bool {
		if _, moves := r.e.Rename[name]; moves {
			return false
		}
		for _, to := range r.e.Rename {
			if to == name {
				return true
			}
		}
		return false
	}
	r.p.Operators = slices.DeleteFunc(r.p.Operators, func(o Operator) bool {
		return r.had[o.Name] && len(o.States) == 0 && wanted(o.Name)
	})
	r.p.Sources = slices.DeleteFunc(r.p.Sources, func(s Source) bool {
		return r.hadSplits[s.Name] && len(s.Splits) == 0 && wanted(s.Name)
	})
}

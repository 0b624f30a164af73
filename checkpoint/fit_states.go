package checkpoint

import (
	"fmt"
	"slices"
)

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
			for _, finding := range CheckState(was, now[i].States[j]) {
				add("operator %q: state %q: %s", old.Name, was.Name, finding)
			}
		}
	}
	return out
}

// CheckState says why the values of a state cannot be read as the job declares it now, nothing if they can. If the schemas
// of both are known, they decide field by field, and the name of the type does not count.
func CheckState(was, is State) []string {
	schemas := was.Schema != "" && is.Schema != ""
	switch {
	case is.Kind != was.Kind:
		return []string{fmt.Sprintf("was a %s and is a %s", was.Kind, is.Kind)}
	case !schemas && is.Type != was.Type:
		return []string{fmt.Sprintf("was of type %s and is of type %s", was.Type, is.Type)}
	case is.Version != was.Version:
		return []string{fmt.Sprintf("was written by version %d of its codec, the job has version %d", was.Version, is.Version)}
	case !schemas:
		return nil
	}
	return CheckSchemas(was.Schema, is.Schema)
}

// CheckSchemas is [Grows] for the texts of two schemas.
func CheckSchemas(was, is string) []string {
	if was == is {
		return nil
	}
	w, err := ParseSchema(was)
	if err != nil {
		return []string{err.Error()}
	}
	n, err := ParseSchema(is)
	if err != nil {
		return []string{err.Error()}
	}
	return Grows(w, n)
}

// LostFields says which fields of restored states the job does not have any more, one sentence each. Their data goes when
// the entry is written next. It is no finding, but worth a line.
func LostFields(restored, now []Operator) []string {
	var out []string
	for _, old := range restored {
		i := slices.IndexFunc(now, func(o Operator) bool { return o.Name == old.Name })
		if i < 0 {
			continue
		}
		for _, was := range old.States {
			j := slices.IndexFunc(now[i].States, func(s State) bool { return s.Name == was.Name })
			if j < 0 || was.Schema == "" || was.Schema == now[i].States[j].Schema {
				continue
			}
			w, err := ParseSchema(was.Schema)
			if err != nil {
				continue
			}
			n, err := ParseSchema(now[i].States[j].Schema)
			if err != nil {
				continue
			}
			for _, field := range Lost(w, n) {
				out = append(out, fmt.Sprintf("operator %q: state %q: field %s is gone: its data goes when an entry is written next", old.Name, was.Name, field))
			}
		}
	}
	return out
}

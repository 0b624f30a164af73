package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// Incompatible says what a start does with state that does not fit the job. The zero value refuses it.
type Incompatible struct {
	// Fresh begins empty if anything does not fit.
	Fresh bool
	// Drop names states that are dropped if they do not fit, and only then, as [Request.Drop] does.
	Drop []string
}

// ParseIncompatible reads "fail" (or ""), "drop:NAME[,NAME]" and "fresh". State is dropped only if it is named.
func ParseIncompatible(s string) (Incompatible, error) {
	kind, names, named := strings.Cut(s, ":")
	switch {
	case s == "" || s == "fail":
		return Incompatible{}, nil
	case s == "fresh":
		return Incompatible{Fresh: true}, nil
	case kind == "drop" && (!named || names == ""):
		return Incompatible{}, fmt.Errorf("%q names no state: want drop:OPERATOR or drop:OPERATOR/STATE, several with commas between", s)
	case kind != "drop":
		return Incompatible{}, fmt.Errorf("%q is none of fail, drop:NAME, fresh", s)
	}
	in := Incompatible{Drop: strings.Split(names, ",")}
	return in, CheckDrops(in.Drop)
}

// CheckDrops reports names that cannot be an operator, a source or a state.
func CheckDrops(names []string) error {
	for _, name := range names {
		op, state, slash := strings.Cut(name, "/")
		if op == "" || slash && state == "" || strings.ContainsAny(op, "# ,") {
			return fmt.Errorf("%q names no state: want OPERATOR, OPERATOR/STATE, SOURCE or SOURCE/TOPIC", name)
		}
	}
	return nil
}

// names reports whether one of the names means a misfit: state of that operator, or the offsets of that source.
func names(drop []string, m Misfit) bool {
	return m.Drop != "" && slices.ContainsFunc(drop, func(name string) bool {
		return name == m.Drop || m.Operator != "" && name == m.Operator || m.State != "" && name == m.Operator+"/"+m.State
	})
}

// policyRecord begins what [Pointer.Drops] says of a name that --on-incompatible has. A start takes it for known from then on,
// whether or not it has dropped anything: a supervisor repeats it at every restart.
const policyRecord = "incompatible:"

// recorded adds to what a lineage has dropped the names that this start was given.
func (s Start) recorded(before []string) []string {
	out := record(before, s.Request.Drop, s.Request.Again)
	for _, name := range s.Request.Incompatible.Drop {
		if name = policyRecord + name; !slices.Contains(out, name) {
			out = append(slices.Clone(out), name)
		}
	}
	return out
}

// unknownPolicies are findings: names that --on-incompatible has and that mean nothing, neither in the job nor in what is
// restored. A mistyped name would otherwise be noticed on the day on which it was to help.
func (s Start) unknownPolicies(p *Pointer, recorded []string) (out []string) {
	for _, name := range s.Request.Incompatible.Drop {
		known := slices.Contains(recorded, policyRecord+name) || slices.Contains(p.Drops, policyRecord+name)
		if !known && !inPointer(p, name) && !inJob(s.Job, name) {
			out = append(out, fmt.Sprintf("--on-incompatible drop:%s: nothing is called so, neither in the job nor in what is restored: there is %s", name, whatThereIs(p)))
		}
	}
	return out
}

// inPointer reports whether a name means an operator, a state, a source or a source's topic of a pointer.
func inPointer(p *Pointer, name string) bool {
	step, part, one := strings.Cut(name, "/")
	return slices.ContainsFunc(p.Operators, func(o Operator) bool {
		return o.Name == step && (!one || slices.ContainsFunc(o.States, func(s State) bool { return s.Name == part }))
	}) || slices.ContainsFunc(p.Sources, func(s Source) bool {
		return s.Name == step && (!one || slices.ContainsFunc(s.Splits, func(s Split) bool { return s.Topic == part }))
	})
}

// inJob is inPointer for a job.
func inJob(job Description, name string) bool {
	step, part, one := strings.Cut(name, "/")
	if !one {
		return slices.Contains(job.Sources, step) || slices.ContainsFunc(job.Operators, func(o Operator) bool { return o.Name == step })
	}
	return declares(job, step, part) || reads(job, step, part)
}

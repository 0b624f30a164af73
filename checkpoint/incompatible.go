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
			return fmt.Errorf("%q names no state: want OPERATOR or OPERATOR/STATE", name)
		}
	}
	return nil
}

// names reports whether one of the names means a misfit: state of that operator, or the offsets of that source.
func names(drop []string, m Misfit) bool {
	return m.Drop != "" && slices.ContainsFunc(drop, func(name string) bool {
		return name == m.Drop || name == m.Operator || m.State != "" && name == m.Operator+"/"+m.State
	})
}

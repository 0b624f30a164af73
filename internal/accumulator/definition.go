// Package accumulator is the encoded form of what the aggregates of a YAML job know of a key (docs/formats/job-yaml.md), for the
// job that computes them and for whoever looks into its savepoints.
//
// [Aggregate] is one aggregate by its definition, and [Form] how it stands in the bytes; [Append] writes one value, a [Reader]
// reads an accumulator. Invariant: a definition alone says how many bytes what it has takes, so that values of another job's
// aggregates are read, or found to be none.
package accumulator

import (
	"fmt"
	"strings"
)

// Aggregate is an aggregate by its definition: count(), sum(price: int).
type Aggregate struct {
	// Function is its name.
	Function string
	// Argument is the text of what it aggregates, "" without one; Kind the name of its type.
	Argument, Kind string
}

// Parse reads a definition.
func Parse(definition string) (Aggregate, error) {
	name, arg, open := strings.Cut(definition, "(")
	arg, closed := strings.CutSuffix(arg, ")")
	if !open || !closed {
		return Aggregate{}, fmt.Errorf("%q is no aggregate", definition)
	}
	a := Aggregate{Function: name, Argument: arg}
	if i := strings.LastIndex(arg, ": "); i >= 0 {
		a.Argument, a.Kind = arg[:i], arg[i+2:]
	}
	return a, nil
}

// String is the definition.
func (a Aggregate) String() string {
	if a.Kind == "" {
		return a.Function + "(" + a.Argument + ")"
	}
	return a.Function + "(" + a.Argument + ": " + a.Kind + ")"
}

// typePrefix begins the type of a state without a schema: "aggregates count(), sum(n: int)".
const typePrefix = "aggregates "

// Type names the type of accumulators of such definitions.
func Type(definitions []string) string { return typePrefix + strings.Join(definitions, ", ") }

// OfType returns the definitions in the name of a type; ok is false for that of another codec.
func OfType(typ string) (definitions []string, ok bool) {
	s, ok := strings.CutPrefix(typ, typePrefix)
	if !ok {
		return nil, false
	}
	depth, from := 0, 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			definitions = append(definitions, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	return append(definitions, strings.TrimSpace(s[from:])), true
}

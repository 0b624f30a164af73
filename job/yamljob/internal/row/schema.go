package row

import (
	"fmt"
	"slices"
)

// Field is one field of a schema.
type Field struct {
	Name string
	Kind Kind
	// Unit is what one unit of a number stands for that a source gives as a timestamp, in milliseconds: 1 by default.
	Unit Unit
}

// Unit says how a source reads a number as a timestamp.
type Unit uint8

// The units of timestamps that are numbers.
const (
	Millis Unit = iota
	Seconds
	Micros
	Nanos
)

// Schema lists the fields of the rows of one step.
type Schema struct {
	Fields []Field
	// Meta is what a source's rows have besides, nil once a step has made new rows.
	Meta  *Meta
	index map[string]int
}

// Meta lists the sources that a schema's rows come from: an expression that uses a field of Metadata marks them, and only
// then do they fill it in.
type Meta struct{ sources []*bool }

// Metadata is what is known of a record besides its value, by the names that expressions use.
var Metadata = []Field{
	{Name: "$key", Kind: KindString},
	{Name: "$timestamp", Kind: KindTimestamp},
	{Name: "$topic", Kind: KindString},
	{Name: "$partition", Kind: KindInt},
	{Name: "$offset", Kind: KindInt},
	{Name: "$headers", Kind: KindJSON},
}

// NewSchema makes the schema of a step that makes new rows.
func NewSchema(fields []Field) *Schema {
	s := &Schema{Fields: fields, index: make(map[string]int, len(fields))}
	for i, f := range fields {
		s.index[f.Name] = i
	}
	return s
}

// SourceSchema makes the schema of a source, which also has Metadata. *used is set if an expression uses that.
func SourceSchema(fields []Field, used *bool) *Schema {
	s := NewSchema(fields)
	s.Meta = &Meta{sources: []*bool{used}}
	return s
}

// Lookup finds a field: its position in a row and its kind.
func (s *Schema) Lookup(name string) (int, Kind, bool) {
	if i, ok := s.index[name]; ok {
		return i, s.Fields[i].Kind, true
	}
	if s.Meta != nil {
		for i, f := range Metadata {
			if f.Name == name {
				for _, used := range s.Meta.sources {
					*used = true
				}
				return len(s.Fields) + i, f.Kind, true
			}
		}
	}
	return 0, KindNull, false
}

// Names lists the fields, and the metadata if there is any.
func (s *Schema) Names() []string {
	var names []string
	for _, f := range s.Fields {
		names = append(names, f.Name)
	}
	if s.Meta != nil {
		for _, f := range Metadata {
			names = append(names, f.Name)
		}
	}
	return names
}

// Union returns the schema of rows of either kind, or why there is none. Metadata survives if both have it.
func (s *Schema) Union(t *Schema) (*Schema, error) {
	for i := range max(len(s.Fields), len(t.Fields)) {
		if i >= len(s.Fields) {
			return nil, fmt.Errorf("only the second has a field %q", t.Fields[i].Name)
		}
		if i >= len(t.Fields) {
			return nil, fmt.Errorf("only the first has a field %q", s.Fields[i].Name)
		}
		if a, b := s.Fields[i], t.Fields[i]; a.Name != b.Name || a.Kind != b.Kind {
			return nil, fmt.Errorf("field %d is %q (%v) in the first, %q (%v) in the second", i+1, a.Name, a.Kind, b.Name, b.Kind)
		}
	}
	u := NewSchema(s.Fields)
	if s.Meta != nil && t.Meta != nil {
		u.Meta = &Meta{sources: slices.Concat(s.Meta.sources, t.Meta.sources)}
	}
	return u, nil
}

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

// Schema lists the fields of the rows of one step. What stands behind them in rows of a source that nothing has changed is the
// record's value and its Metadata, if that is wanted.
type Schema struct {
	Fields []Field
	// sources are those that rows may come from unchanged; meta says that all rows do, and so have Metadata.
	sources []*Wants
	meta    bool
	index   map[string]int
}

// Wants says what of a record the steps behind a source use; it is collected while the job is built. The zero value is nothing.
type Wants struct {
	// Fields is how many of the schema's fields a row has: up to the last one that is used.
	Fields int
	// Raw and Meta say that a row has the record's value as it was read, and Metadata. It has all fields then.
	Raw, Meta bool
}

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

// SourceSchema makes the schema of a source, which also has Metadata.
func SourceSchema(fields []Field, wants *Wants) *Schema {
	s := NewSchema(fields)
	s.sources, s.meta = []*Wants{wants}, true
	return s
}

// Lookup finds a field, to use it: its position in a row and its kind.
func (s *Schema) Lookup(name string) (int, Kind, bool) {
	if i, ok := s.index[name]; ok {
		s.want(i+1, false, false)
		return i, s.Fields[i].Kind, true
	}
	if s.meta {
		for i, f := range Metadata {
			if f.Name == name {
				s.want(0, false, true)
				return len(s.Fields) + 1 + i, f.Kind, true
			}
		}
	}
	return 0, KindNull, false
}

// Raw is the position, in rows of a source that nothing has changed, of the record's value as it was read: a string, or null
// for Kafka's null. Other rows end before it.
func (s *Schema) Raw() int {
	s.want(0, true, false)
	return len(s.Fields)
}

func (s *Schema) want(fields int, raw, meta bool) {
	for _, w := range s.sources {
		w.Fields = max(w.Fields, fields)
		w.Raw, w.Meta = w.Raw || raw, w.Meta || meta
	}
}

// all says that every field is used.
func (s *Schema) all() { s.want(len(s.Fields), false, false) }

// Names lists the fields, and the metadata if there is any.
func (s *Schema) Names() []string {
	var names []string
	for _, f := range s.Fields {
		names = append(names, f.Name)
	}
	if s.meta {
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
	u.sources, u.meta = slices.Concat(s.sources, t.sources), s.meta && t.meta
	return u, nil
}

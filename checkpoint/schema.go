package checkpoint

import (
	"fmt"
	"strings"
)

// Schema describes the values of a state: what [Grows] compares. Its text (docs/formats/schema.md) travels with the
// state, so that a job whose types have grown knows what older values look like. There are three families:
//
//	cbor {count int64, seen time}                  a Go value in CBOR; " in tumbling(1m0s)" follows if it is in windows
//	columns {clicks "count()"} {clicks "count()", total "sum(price: int)"}
//	anything else                                  a codec's own words, which fit only themselves
type Schema struct {
	// Root is the shape of a value of family cbor, else nil.
	Root *Shape
	// Columns are those of family columns: one list for each set of columns that values were written with, the current one
	// last.
	Columns [][]Column
	// Windows are those that the values belong to, "" if there are none.
	Windows string

	text string
}

// Column is a named part of a value that only its codec can read.
type Column struct {
	Name string
	// Definition is what the column holds. Another definition under the same name is another column.
	Definition string
	// Gone says that the user gave the column of this name up; it has no definition.
	Gone bool
}

const (
	familyCBOR    = "cbor "
	familyColumns = "columns "
)

// ParseSchema reads the text of a schema. A text of no known family is a schema too: one that fits only itself.
func ParseSchema(text string) (Schema, error) {
	s := Schema{text: text}
	body, isCBOR := strings.CutPrefix(text, familyCBOR)
	columns, isColumns := strings.CutPrefix(text, familyColumns)
	p := shapeParser{text: body}
	if isColumns {
		p.text = columns
	}
	switch {
	case isCBOR:
		s.Root = p.shape(0)
	case isColumns:
		for p.err == nil && p.next('{') {
			s.Columns = append(s.Columns, p.columns())
			p.take(" ")
		}
		if len(s.Columns) == 0 {
			p.fail("no columns")
		}
	default:
		return s, nil
	}
	if p.take(" in ") || p.take("in ") {
		s.Windows, p.text = p.text, ""
	}
	if p.err == nil && p.text != "" {
		p.fail("more than one type")
	}
	if p.err != nil {
		return Schema{}, fmt.Errorf("schema %q: %w", text, p.err)
	}
	return s, nil
}

// String is the schema's text, in canonical form: equal schemas have equal texts.
func (s Schema) String() string {
	var b strings.Builder
	switch {
	case s.Root != nil:
		b.WriteString(familyCBOR)
		b.WriteString(s.Root.String())
	case s.Columns != nil:
		b.WriteString(strings.TrimSuffix(familyColumns, " "))
		for _, columns := range s.Columns {
			b.WriteString(" {")
			for i, c := range columns {
				if i > 0 {
					b.WriteString(", ")
				}
				if c.Gone {
					b.WriteString("-" + fieldName(c.Name))
					continue
				}
				fmt.Fprintf(&b, "%s %q", fieldName(c.Name), c.Definition)
			}
			b.WriteString("}")
		}
	default:
		return s.text
	}
	if s.Windows != "" {
		b.WriteString(" in ")
		b.WriteString(s.Windows)
	}
	return b.String()
}

// known reports that there is something to compare field by field.
func (s Schema) known() bool { return s.Root != nil || s.Columns != nil }

// JoinSchemas describes the values of a state that was written as was and is written as is from now on, and which is has
// been found to fit. Fields that are gone stay in it, marked: older values still have them, so that one that comes back
// with another type is noticed. A text that cannot be read is replaced.
func JoinSchemas(was, is string) string {
	if was == is || was == "" || is == "" {
		return is
	}
	w, err := ParseSchema(was)
	if err != nil {
		return is
	}
	n, err := ParseSchema(is)
	if err != nil {
		return is
	}
	return Join(w, n).String()
}

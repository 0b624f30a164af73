package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kinds of shapes. Those of numbers are named as Go's types are: int8 ... int64, uint8 ... uint64, float32, float64.
const (
	ShapeBool    = "bool"
	ShapeString  = "string"
	ShapeBytes   = "bytes"  // a byte slice, or an array of Len bytes
	ShapeTime    = "time"   // time.Time
	ShapeBigInt  = "bigint" // math/big.Int
	ShapeAny     = "any"
	ShapeSelf    = "self" // a type that encodes itself, known by its Name only
	ShapePointer = "*"
	ShapeSlice   = "[]"
	ShapeArray   = "[n]" // of Len elements
	ShapeMap     = "map"
	ShapeStruct  = "{}" // a CBOR map by field name; fields in order of name
	ShapeTuple   = "()" // a struct that is a CBOR array; fields in order of place
)

// Shape describes a value in CBOR. Structs may contain themselves: shapes are a graph.
type Shape struct {
	Kind string
	Name string
	Len  int
	// Key is that of a map, Elem what a pointer, slice, array or map has.
	Key, Elem *Shape
	Fields    []Field
	// KeyVersion is set for a map state, whose keys are parts of the names of its entries: the version of their codec. Such
	// keys have to keep their bytes.
	KeyVersion int
}

// Field is a field of a struct as it stands in CBOR.
type Field struct {
	Name string
	// Number says that Name is a number: the option keyasint.
	Number bool
	// Gone says that the job has it no more, but values written before may.
	Gone  bool
	Shape *Shape
}

// String is the shape in canonical form. A struct that has been written out already is "#" and how many began before it.
func (s *Shape) String() string {
	w := shapeWriter{seen: map[*Shape]int{}}
	w.write(s)
	return w.b.String()
}

type shapeWriter struct {
	b    strings.Builder
	seen map[*Shape]int
}

func (w *shapeWriter) write(s *Shape) {
	switch s.Kind {
	case ShapePointer:
		w.b.WriteString("*")
		w.write(s.Elem)
	case ShapeSlice:
		w.b.WriteString("[]")
		w.write(s.Elem)
	case ShapeArray:
		fmt.Fprintf(&w.b, "[%d]", s.Len)
		w.write(s.Elem)
	case ShapeBytes:
		w.b.WriteString("bytes")
		if s.Len > 0 {
			fmt.Fprintf(&w.b, "[%d]", s.Len)
		}
	case ShapeSelf:
		fmt.Fprintf(&w.b, "self(%q)", s.Name)
	case ShapeMap:
		w.b.WriteString("map[")
		w.write(s.Key)
		if s.KeyVersion > 0 {
			fmt.Fprintf(&w.b, "@%d", s.KeyVersion)
		}
		w.b.WriteString("]")
		w.write(s.Elem)
	case ShapeStruct, ShapeTuple:
		if n, ok := w.seen[s]; ok {
			fmt.Fprintf(&w.b, "#%d", n)
			return
		}
		w.seen[s] = len(w.seen)
		w.b.WriteByte(s.Kind[0])
		for i, f := range s.Fields {
			if i > 0 {
				w.b.WriteString(", ")
			}
			if f.Gone {
				w.b.WriteByte('-')
			}
			w.b.WriteString(f.key())
			w.b.WriteByte(' ')
			w.write(f.Shape)
		}
		w.b.WriteByte(s.Kind[1])
	default:
		w.b.WriteString(s.Kind)
	}
}

// key is the field's name as the text has it; names and numbers are different keys.
func (f Field) key() string {
	if f.Number {
		return "=" + f.Name
	}
	return fieldName(f.Name)
}

// SortFields brings the fields of a struct into canonical order.
func SortFields(fields []Field) {
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.key(), b.key()) })
}

func fieldName(name string) string {
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && (r >= '0' && r <= '9' || r == '.' || r == '-')) {
			return strconv.Quote(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// number splits the name of a kind of numbers: its family and its bits.
func number(kind string) (family string, bits int) {
	for _, family := range []string{"int", "uint", "float"} {
		if digits, ok := strings.CutPrefix(kind, family); ok {
			if bits, err := strconv.Atoi(digits); err == nil {
				return family, bits
			}
		}
	}
	return "", 0
}

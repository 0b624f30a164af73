package operators

import (
	"encoding"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/weirstream/weir/checkpoint"
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	bigIntType    = reflect.TypeFor[big.Int]()
	anyType       = reflect.TypeFor[any]()
	tagType       = reflect.TypeFor[cbor.Tag]()
	selfEncoding  = []reflect.Type{reflect.TypeFor[cbor.Marshaler](), reflect.TypeFor[cbor.Unmarshaler](), reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler]()}
	scalarOfKinds = map[reflect.Kind]string{
		reflect.Bool: checkpoint.ShapeBool, reflect.String: checkpoint.ShapeString,
		reflect.Int8: "int8", reflect.Int16: "int16", reflect.Int32: "int32", reflect.Int64: "int64",
		reflect.Uint8: "uint8", reflect.Uint16: "uint16", reflect.Uint32: "uint32", reflect.Uint64: "uint64",
		reflect.Float32: "float32", reflect.Float64: "float64",
	}
)

// schemaFor describes how a Go type stands in CBOR.
func schemaFor(t reflect.Type) string {
	r := reflector{structs: map[reflect.Type]*checkpoint.Shape{}, open: map[reflect.Type]bool{}}
	return checkpoint.Schema{Root: r.shape(t)}.String()
}

type reflector struct {
	structs map[reflect.Type]*checkpoint.Shape
	// open are the types that contain the one at hand: one that contains itself, but by way of a struct, is known by name.
	open map[reflect.Type]bool
}

func (r *reflector) shape(t reflect.Type) *checkpoint.Shape {
	if s := r.structs[t]; s != nil {
		return s
	}
	kind := t.Kind()
	switch {
	case t == timeType:
		return &checkpoint.Shape{Kind: checkpoint.ShapeTime}
	case t == bigIntType:
		return &checkpoint.Shape{Kind: checkpoint.ShapeBigInt}
	case t == anyType:
		return &checkpoint.Shape{Kind: checkpoint.ShapeAny}
	case kind != reflect.Pointer && encodesItself(t) || t == tagType || r.open[t]:
		return &checkpoint.Shape{Kind: checkpoint.ShapeSelf, Name: t.String()}
	}
	if kind == reflect.Struct {
		return r.structOf(t)
	}
	r.open[t] = true
	defer delete(r.open, t)
	switch kind {
	case reflect.Int, reflect.Uint:
		return &checkpoint.Shape{Kind: kind.String() + strconv.Itoa(t.Bits())}
	case reflect.Pointer:
		return &checkpoint.Shape{Kind: checkpoint.ShapePointer, Elem: r.shape(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &checkpoint.Shape{Kind: checkpoint.ShapeBytes}
		}
		return &checkpoint.Shape{Kind: checkpoint.ShapeSlice, Elem: r.shape(t.Elem())}
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &checkpoint.Shape{Kind: checkpoint.ShapeBytes, Len: t.Len()}
		}
		return &checkpoint.Shape{Kind: checkpoint.ShapeArray, Len: t.Len(), Elem: r.shape(t.Elem())}
	case reflect.Map:
		return &checkpoint.Shape{Kind: checkpoint.ShapeMap, Key: r.shape(t.Key()), Elem: r.shape(t.Elem())}
	}
	if scalar := scalarOfKinds[kind]; scalar != "" {
		return &checkpoint.Shape{Kind: scalar}
	}
	// A channel, a function, an interface with methods: there are no values of it to describe.
	return &checkpoint.Shape{Kind: checkpoint.ShapeSelf, Name: t.String()}
}

func encodesItself(t reflect.Type) bool {
	return slices.ContainsFunc(selfEncoding, reflect.PointerTo(t).Implements)
}

// structField is a field with what decides among several of one name.
type structField struct {
	checkpoint.Field
	typ    reflect.Type
	index  []int
	tagged bool
}

// structOf describes a struct. Which of its fields are encoded, and by what name, is as in encoding/json, with the tag cbor
// before json.
func (r *reflector) structOf(t reflect.Type) *checkpoint.Shape {
	s := &checkpoint.Shape{Kind: checkpoint.ShapeStruct}
	r.structs[t] = s
	around := r.open
	r.open = map[reflect.Type]bool{}
	defer func() { r.open = around }()
	for i := range t.NumField() {
		if f := t.Field(i); f.Name == "_" && slices.Contains(strings.Split(f.Tag.Get("cbor"), ",")[1:], "toarray") {
			s.Kind = checkpoint.ShapeTuple
		}
	}
	fields := encoded(t)
	slices.SortFunc(fields, func(a, b structField) int { return slices.Compare(a.index, b.index) })
	for _, f := range fields {
		f.Shape = r.shape(f.typ)
		s.Fields = append(s.Fields, f.Field)
	}
	if s.Kind == checkpoint.ShapeStruct {
		checkpoint.SortFields(s.Fields)
	}
	return s
}

// encoded are the fields of a struct and of those embedded in it that are seen from outside.
func encoded(t reflect.Type) []structField {
	type embedded struct {
		t     reflect.Type
		index []int
	}
	type fieldKey struct {
		name   string
		number bool
	}
	found := map[fieldKey][]structField{} // those of the least depth
	seen := map[reflect.Type]bool{}
	level := []embedded{{t, nil}}
	for len(level) > 0 {
		times := map[reflect.Type]int{}
		for _, e := range level {
			times[e.t]++
		}
		var next []embedded
		here := map[fieldKey][]structField{}
		for _, e := range level {
			if seen[e.t] || times[e.t] > 1 {
				continue
			}
			for i := range e.t.NumField() {
				f := e.t.Field(i)
				inner := f.Type
				for inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				tag := f.Tag.Get("cbor")
				if tag == "" {
					tag = f.Tag.Get("json")
				}
				if !f.IsExported() && !(f.Anonymous && inner.Kind() == reflect.Struct) || tag == "-" {
					continue
				}
				index := append(slices.Clone(e.index), i)
				name, options, _ := strings.Cut(tag, ",")
				if f.Anonymous && inner.Kind() == reflect.Struct && name == "" {
					next = append(next, embedded{inner, index})
					continue
				}
				field := structField{typ: f.Type, index: index, tagged: tag != ""}
				field.Name = name
				if name == "" {
					field.Name = f.Name
				}
				if slices.Contains(strings.Split(options, ","), "keyasint") {
					if n, err := strconv.Atoi(field.Name); err == nil {
						field.Name, field.Number = strconv.Itoa(n), true
					}
				}
				key := fieldKey{field.Name, field.Number}
				here[key] = append(here[key], field)
			}
		}
		for _, e := range level {
			seen[e.t] = true
		}
		for key, fields := range here {
			if _, hidden := found[key]; !hidden {
				found[key] = fields
			}
		}
		level = next
	}
	var out []structField
	for _, fields := range found {
		if len(fields) > 1 {
			// Of several at one depth the only tagged one is meant; else none is.
			tagged := slices.DeleteFunc(slices.Clone(fields), func(f structField) bool { return !f.tagged })
			if len(tagged) != 1 {
				continue
			}
			fields = tagged
		}
		out = append(out, fields[0])
	}
	return out
}

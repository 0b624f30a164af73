package typed

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unsafe"

	"github.com/weirstream/weir/internal/jsontext"
)

// object is the plan of a struct.
type object struct {
	fields []field
	names  names
}

// field is a field of a struct, or of one that is embedded in it.
type field struct {
	name string
	// prefix is ,"name": as it is written.
	prefix string
	value  *value
	// hops lead through embedded pointers; offset counts from the last of them.
	hops   []hop
	offset uintptr
	omit   omit
	// quoted is a struct of this field alone if its value stands in quotes (the option "string"); else nil.
	quoted reflect.Type

	found
}

// found is where a field was found.
type found struct {
	goName      string
	typ         reflect.Type
	addressable bool
	depth       int
	tagged      bool
}

// hop is an embedded pointer to a struct.
type hop struct {
	offset uintptr
	elem   reflect.Type
}

// address returns where the field of the struct at p lies; nil if an embedded pointer on the way is nil and is not to be
// made.
func (f *field) address(p unsafe.Pointer, make bool) unsafe.Pointer {
	if f.hops != nil {
		if p = f.hop(p, make); p == nil {
			return nil
		}
	}
	return unsafe.Add(p, f.offset)
}

func (f *field) hop(p unsafe.Pointer, make bool) unsafe.Pointer {
	for _, h := range f.hops {
		at := (*unsafe.Pointer)(unsafe.Add(p, h.offset))
		if *at == nil {
			if !make {
				return nil
			}
			*at = reflect.New(h.elem).UnsafePointer()
		}
		p = *at
	}
	return p
}

// fill makes the plan of a struct. Of several fields with one name the least deep is taken, and among those the one with a
// tag. Two that nothing tells apart are a mistake; encoding/json would leave both out.
func (p *planner) fill(o *object, t reflect.Type, addressable bool) {
	all := p.collect(nil, t, field{found: found{addressable: addressable}}, nil)
	best := map[string][]int{}
	for i, f := range all {
		switch b := best[f.name]; {
		case len(b) == 0 || f.outdoes(all[b[0]]):
			best[f.name] = []int{i}
		case !all[b[0]].outdoes(f):
			best[f.name] = append(b, i)
		}
	}
	outer := p.path
	for i, f := range all {
		b := best[f.name]
		if b[0] != i {
			continue
		}
		p.path = join(outer, f.name)
		if len(b) > 1 {
			p.mistake("two fields have this name: %s and %s", f.goName, all[b[1]].goName)
		}
		f.value = p.value(f.typ, f.addressable)
		o.fields = append(o.fields, f)
	}
	p.path = outer
	o.names.fill(o.fields)
}

func (f field) outdoes(g field) bool {
	return f.depth < g.depth || f.depth == g.depth && f.tagged && !g.tagged
}

// collect appends the fields of t, which is embedded where outer says, and of what t embeds. The types around it are left
// out: their fields would be deeper than those found already.
func (p *planner) collect(all []field, t reflect.Type, outer field, around []reflect.Type) []field {
	around = append(around, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		elem := sf.Type
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		embeds := sf.Anonymous && elem.Kind() == reflect.Struct
		tag := sf.Tag.Get("json")
		if !sf.IsExported() && !embeds || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		f := outer
		f.goName, f.offset = strings.TrimPrefix(outer.goName+"."+sf.Name, "."), outer.offset+sf.Offset
		if !validName(name) {
			name = ""
		}
		if name == "" && embeds {
			f.depth++
			if sf.Type.Kind() == reflect.Pointer {
				if !p.write && !sf.IsExported() {
					p.mistake("embedded *%s cannot be set: it is not exported", sf.Name)
				}
				f.hops = append(slices.Clone(outer.hops), hop{f.offset, elem})
				f.offset, f.addressable = 0, true
			}
			if !slices.Contains(around, elem) {
				all = p.collect(all, elem, f, slices.Clone(around))
			}
			continue
		}
		if f.tagged = name != ""; !f.tagged {
			name = sf.Name
		}
		f.name, f.typ = name, sf.Type
		f.prefix = string(append(jsontext.AppendString([]byte{','}, name), ':'))
		f.option(options, elem)
		all = append(all, f)
	}
	return all
}

// option takes the options of a tag; elem is the field's type without a pointer.
func (f *field) option(options string, elem reflect.Type) {
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.omit |= omitEmpty
		case "omitzero":
			f.omit |= omitZeroOf(f.typ)
		case "string":
			if k := elem.Kind(); k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String {
				f.quoted = reflect.StructOf([]reflect.StructField{{Name: "V", Type: f.typ, Tag: `json:"V,string"`}})
			}
		}
	}
}

// validName reports whether encoding/json takes a tag's name; it ignores others.
func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return true
}

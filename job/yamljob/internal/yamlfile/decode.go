package yamlfile

import (
	"encoding"
	"reflect"
	"strings"
	"time"

	"github.com/weirstream/weir/job/yamljob/internal/text"
)

var (
	nodeType     = reflect.TypeFor[*Node]()
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Decode fills dst, a pointer to a struct with yaml tags, from a mapping, strictly: a key that the struct has no field
// for is a mistake. A field of type *Node takes the node as it is. A nil or null n changes nothing.
func (r *Report) Decode(n *Node, where string, dst any) {
	if n == nil || n.Kind == Null {
		return
	}
	r.value(n, where, "", reflect.ValueOf(dst).Elem())
}

func (r *Report) value(n *Node, where, name string, v reflect.Value) {
	label := name
	if label != "" {
		label += ": "
	}
	t := v.Type()
	switch {
	case t == nodeType:
		v.Set(reflect.ValueOf(n))
		return
	case n.bad:
		return
	case n.Kind == Null:
		v.SetZero()
		return
	case t == durationType || t == timeType || v.CanAddr() && v.Addr().Type().Implements(textType):
		r.scalar(n, where, label, v)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(t.Elem()))
		}
		r.value(n, where, name, v.Elem())
	case reflect.Struct:
		r.structure(n, where, label, v)
	case reflect.Map:
		if n.AsMapping().Kind != Mapping {
			r.wrong(n, where, "%swant a mapping, got %v", label, n.Kind)
			return
		}
		v.Set(reflect.MakeMap(t))
		for _, e := range n.Entries {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			r.scalar(&Node{Kind: Scalar, Pos: e.Pos, Text: e.Key}, where, label, key)
			r.value(e.Value, where, join(name, e.Key), value)
			v.SetMapIndex(key, value)
		}
	case reflect.Slice:
		if n.AsList().Kind != Sequence {
			r.wrong(n, where, "%swant a list, got %v", label, n.Kind)
			return
		}
		v.Set(reflect.MakeSlice(t, len(n.Items), len(n.Items)))
		for i, item := range n.Items {
			r.value(item, where, name, v.Index(i))
		}
	default:
		r.scalar(n, where, label, v)
	}
}

// wrong reports a value of the wrong type.
func (r *Report) wrong(n *Node, where, format string, args ...any) {
	n.bad = true
	r.Add(n.Pos, where, format, args...)
}

func (r *Report) structure(n *Node, where, label string, v reflect.Value) {
	if n.AsMapping().Kind != Mapping {
		r.wrong(n, where, "%swant a mapping, got %v", label, n.Kind)
		return
	}
	fields, names := map[string]reflect.Value{}, []string{}
	collect(v, fields, &names)
	prefix := strings.TrimSuffix(label, ": ")
	for _, e := range n.Entries {
		f, ok := fields[e.Key]
		if !ok {
			r.Add(e.Pos, where, "%s", UnknownField(label, e.Key, names))
			continue
		}
		r.value(e.Value, where, join(prefix, e.Key), f)
	}
}

// UnknownField words the mistake of a key that there is no field for.
func UnknownField(label, key string, names []string) string {
	hint := text.Suggest(key, names)
	if hint == "" && len(names) <= 12 {
		hint = ": there are " + strings.Join(names, ", ")
	}
	return label + "unknown field \"" + key + "\"" + hint
}

func join(name, key string) string {
	if name == "" {
		return key
	}
	return name + "." + key
}

// collect lists the fields of a struct by their yaml names, those of inlined structs too.
func collect(v reflect.Value, fields map[string]reflect.Value, names *[]string) {
	t := v.Type()
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("yaml")
		if !ok || tag == "-" || !t.Field(i).IsExported() {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if options == "inline" {
			collect(v.Field(i), fields, names)
			continue
		}
		fields[name] = v.Field(i)
		*names = append(*names, name)
	}
}

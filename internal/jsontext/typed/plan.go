package typed

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// kind is what is to be done with a value.
type kind uint8

const (
	kindOther kind = iota
	kindBool
	kindInt
	kindUint
	kindFloat
	kindString
	kindBytes // []byte: base64
	kindTime
	kindRaw // json.RawMessage
	kindObject
	kindPointer
	kindSlice
)

// value is the plan of one type.
type value struct {
	kind   kind
	bits   int // of a number
	typ    reflect.Type
	object *object // of kindObject
	elem   *value  // of kindPointer and kindSlice, and of kindBytes for an array of numbers
	// addressable says that encoding/json would find the methods of a pointer to the value. It has a meaning for an Encoder.
	addressable bool
}

// place is a type at a place where it is addressable or not.
type place struct {
	typ         reflect.Type
	addressable bool
}

// planner makes the plans of a type and of the types in it, for a Decoder or an Encoder.
type planner struct {
	write    bool
	plans    map[place]*value
	mistakes []error
	// path are the names of the fields on the way to the type in hand.
	path string
}

// plan makes the plan of t. There may be mistakes in it.
func plan(t reflect.Type, write bool) (*value, []error) {
	p := &planner{write: write, plans: map[place]*value{}}
	v := p.value(t, false)
	return v, p.mistakes
}

func (p *planner) mistake(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if p.path != "" {
		err = fmt.Errorf("field %q: %w", p.path, err)
	}
	p.mistakes = append(p.mistakes, err)
}

var (
	timeType        = reflect.TypeFor[time.Time]()
	rawType         = reflect.TypeFor[json.RawMessage]()
	numberType      = reflect.TypeFor[json.Number]()
	marshaler       = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (p *planner) value(t reflect.Type, addressable bool) *value {
	at := place{t, addressable && p.write}
	if v := p.plans[at]; v != nil {
		return v
	}
	v := &value{typ: t, addressable: addressable}
	p.plans[at] = v // before what is in it: a type may contain itself
	mistakes := len(p.mistakes)
	p.make(v, t, addressable)
	if len(p.mistakes) > mistakes {
		delete(p.plans, at) // so that each field of this type is named
	}
	return v
}

func (p *planner) make(v *value, t reflect.Type, addressable bool) {
	switch {
	case t == timeType:
		v.kind = kindTime
		return
	case t == rawType:
		v.kind = kindRaw
		return
	case t == numberType, p.hasMethods(t, addressable):
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		v.kind = kindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.kind, v.bits = kindInt, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.kind, v.bits = kindUint, t.Bits()
	case reflect.Float32, reflect.Float64:
		v.kind, v.bits = kindFloat, t.Bits()
	case reflect.String:
		v.kind = kindString
	case reflect.Struct:
		v.object = new(object)
		v.kind = kindObject
		p.fill(v.object, t, addressable)
	case reflect.Pointer:
		if v.kind = kindPointer; endless(t) {
			p.mistake("%v: a pointer to itself", t)
			return
		}
		v.elem = p.value(t.Elem(), true)
	case reflect.Slice:
		v.kind = kindSlice
		v.elem = p.value(t.Elem(), true)
		if t.Elem().Kind() == reflect.Uint8 && !(p.write && p.hasMethods(t.Elem(), true)) {
			v.kind = kindBytes
		}
	case reflect.Array:
		p.value(t.Elem(), addressable)
	case reflect.Map:
		p.key(t)
		p.value(t.Elem(), false)
	case reflect.Interface:
		if !p.write && t.NumMethod() > 0 {
			p.mistake("%v: an interface with methods cannot be read", t)
		}
	default:
		p.mistake("%v: JSON has nothing for it", t)
	}
}

// endless reports whether a pointer leads to nothing but pointers: type P *P.
func endless(t reflect.Type) bool {
	for range 100 {
		if t.Kind() != reflect.Pointer {
			return false
		}
		t = t.Elem()
	}
	return true
}

// hasMethods reports whether a type says itself how it is read or written.
func (p *planner) hasMethods(t reflect.Type, addressable bool) bool {
	if t.Kind() == reflect.Pointer {
		return false // its element has them, and nil is null
	}
	is := func(t reflect.Type, one, other reflect.Type) bool { return t.Implements(one) || t.Implements(other) }
	if p.write {
		return is(t, marshaler, textMarshaler) || addressable && is(reflect.PointerTo(t), marshaler, textMarshaler)
	}
	return is(reflect.PointerTo(t), unmarshaler, textUnmarshaler)
}

// key checks the keys of a map: strings, integers, or types that are texts.
func (p *planner) key(t reflect.Type) {
	k := t.Key()
	switch k.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return
	}
	if p.write && k.Implements(textMarshaler) || !p.write && reflect.PointerTo(k).Implements(textUnmarshaler) {
		return
	}
	p.mistake("%v: the names of an object cannot be of type %v", t, k)
}

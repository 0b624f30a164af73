package operators

import (
	"fmt"
	"reflect"
)

// lossy is a codec that knows what of a value it would not give back. Such a state is refused when it is declared: else it would
// be right until the first restore, and wrong from then on.
type lossy interface{ loses() error }

// losesOf is what a codec says of its values, nil if it says nothing.
func losesOf(codec any) error {
	if l, ok := codec.(lossy); ok {
		return l.loses()
	}
	return nil
}

func (c codecID) loses() error { return c.lost }

func (c windowCodec[V]) loses() error    { return losesOf(c.Codec) }
func (c paneCodec[Acc]) loses() error    { return losesOf(c.acc) }
func (c sessionCodec[Acc]) loses() error { return c.pane.loses() }
func (c bunchCodec[V]) loses() error     { return losesOf(c.value) }

// lostIn says what of a Go type CBOR does not keep, nil if it keeps all: fields that are not exported (but for those with the
// tag cbor:"-", which says that they may go), and types of which there is nothing to make a value of.
func lostIn(t reflect.Type) error {
	return lossFinder{map[reflect.Type]bool{}}.find(t, t.String())
}

type lossFinder struct{ seen map[reflect.Type]bool }

func (f lossFinder) find(t reflect.Type, at string) error {
	kind := t.Kind()
	if f.seen[t] || t == timeType || t == bigIntType || t == anyType || t == tagType || kind != reflect.Pointer && encodesItself(t) {
		return nil
	}
	f.seen[t] = true
	switch kind {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return f.find(t.Elem(), at)
	case reflect.Map:
		if err := f.find(t.Key(), at); err != nil {
			return err
		}
		return f.find(t.Elem(), at)
	case reflect.Struct:
		return f.fields(t, at)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return fmt.Errorf("%s: a %s cannot be read back: bring a codec", at, t)
	}
	return nil
}

func (f lossFinder) fields(t reflect.Type, at string) error {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("cbor")
		if tag == "" {
			tag = field.Tag.Get("json")
		}
		if tag == "-" || field.Name == "_" {
			continue
		}
		inner := field.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		where := at + "." + field.Name
		switch {
		case field.IsExported(), field.Type.Size() == 0:
		case field.Anonymous && inner.Kind() == reflect.Struct && field.Type.Kind() != reflect.Pointer:
		case field.Anonymous && inner.Kind() == reflect.Struct:
			return fmt.Errorf("%s: a pointer to a struct that is not exported cannot be read back: embed the struct, or export it", where)
		default:
			return fmt.Errorf("%s is not exported, so a restore would lose it: export it, say that it may go (`cbor:\"-\"`), or bring a codec", where)
		}
		if err := f.find(field.Type, where); err != nil {
			return err
		}
	}
	return nil
}

// lostInKeys is lostIn for the keys of a map state, which have to be equal to what is read back: an address is not, nor need be
// what is in an interface, and keys that differ only in a field that CBOR does not have would become one.
func lostInKeys(codec any, t reflect.Type) error {
	l, ok := codec.(lossy)
	if !ok {
		return nil // a codec of the user's own
	}
	if err := l.loses(); err != nil {
		return fmt.Errorf("its keys: %w", err)
	}
	if why := unequal(t, t.String()); why != "" {
		return fmt.Errorf("its keys: %s: make the key of values that are kept, or bring a codec", why)
	}
	return nil
}

// unequal says which part of a comparable type that is not lost is not equal to itself once it is read back.
func unequal(t reflect.Type, at string) string {
	switch {
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Interface:
		return fmt.Sprintf("%s, a %s, is not equal to itself once it is read back", at, t)
	case encodesItself(t):
	case t.Kind() == reflect.Array:
		return unequal(t.Elem(), at+"[]")
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			switch {
			case field.Tag.Get("cbor") == "-" || field.Tag.Get("cbor") == "" && field.Tag.Get("json") == "-":
				return fmt.Sprintf("%s.%s is not kept", at, field.Name)
			case field.Name == "_":
			default:
				if why := unequal(field.Type, at+"."+field.Name); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// hasTime reports whether a comparable type has a time in it. Two times may be the same moment and not be equal, and one that is
// read back has neither a monotonic clock nor the location that it had.
func hasTime(t reflect.Type) bool {
	switch {
	case t == timeType:
		return true
	case encodesItself(t):
	case t.Kind() == reflect.Array:
		return hasTime(t.Elem())
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if hasTime(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

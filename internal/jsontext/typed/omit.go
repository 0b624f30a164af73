package typed

import (
	"reflect"
	"time"
	"unsafe"
)

// omit says when a field is not written.
type omit uint8

const (
	omitEmpty omit = 1 << iota
	omitZero
	// omitMethod is omitZero for a type with a method IsZero.
	omitMethod
)

type zeroer interface{ IsZero() bool }

var zeroerType = reflect.TypeFor[zeroer]()

func omitZeroOf(t reflect.Type) omit {
	if t.Implements(zeroerType) || reflect.PointerTo(t).Implements(zeroerType) {
		return omitMethod
	}
	return omitZero
}

// omits reports whether the field that lies at p is left out.
func (f *field) omits(p unsafe.Pointer) bool {
	v := f.value
	return f.omit&omitEmpty != 0 && v.isEmpty(p) ||
		f.omit&omitZero != 0 && v.isZero(p) ||
		f.omit&omitMethod != 0 && v.saysZero(p)
}

func (v *value) isEmpty(p unsafe.Pointer) bool {
	switch v.kind {
	case kindObject, kindTime:
		return false
	case kindSlice, kindBytes, kindRaw:
		return (*slice)(p).len == 0
	case kindOther:
		switch x := at(v.typ, p); x.Kind() {
		case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
			return x.Len() == 0
		case reflect.Struct:
			return false
		}
	}
	return v.isZero(p)
}

func (v *value) isZero(p unsafe.Pointer) bool {
	switch v.kind {
	case kindBool:
		return !*(*bool)(p)
	case kindInt:
		return v.loadInt(p) == 0
	case kindUint:
		return v.loadUint(p) == 0
	case kindString:
		return *(*string)(p) == ""
	case kindPointer:
		return *(*unsafe.Pointer)(p) == nil
	}
	return at(v.typ, p).IsZero()
}

func (v *value) saysZero(p unsafe.Pointer) bool {
	if v.kind == kindTime {
		return (*time.Time)(p).IsZero()
	}
	c := copyOf(v.typ, p)
	x := c.Elem()
	if k := x.Kind(); k != reflect.Pointer && k != reflect.Interface {
		return c.Interface().(zeroer).IsZero()
	}
	if x.IsNil() || x.Kind() == reflect.Interface && x.Elem().Kind() == reflect.Pointer && x.Elem().IsNil() {
		return true
	}
	return x.Interface().(zeroer).IsZero()
}

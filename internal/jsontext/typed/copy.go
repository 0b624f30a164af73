package typed

import (
	"reflect"
	"unsafe"
)

// slice is how a slice lies in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// keep is always false. The assignment that depends on it tells the compiler that what a value points to gets into the heap,
// though the value itself may lie in the stack: at hides from it what happens.
var (
	keep bool
	kept any
)

// at returns what lies at p as an assignable value of type t. It must not get into the heap: see the package's invariant.
func at(t reflect.Type, p unsafe.Pointer) reflect.Value {
	address := uintptr(p) // hides p from the compiler, which would let every value that is read or written escape
	return reflect.NewAt(t, *(*unsafe.Pointer)(unsafe.Pointer(&address))).Elem()
}

// copyOf returns a pointer to a copy of what lies at p.
func copyOf(t reflect.Type, p unsafe.Pointer) reflect.Value {
	c := reflect.New(t)
	c.Elem().Set(at(t, p))
	return c
}

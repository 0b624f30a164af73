package row

import (
	"math"
	"unsafe"
)

// Kind is the type of a value. The zero Kind is that of null.
type Kind uint8

// The kinds. KindFailed is the outcome of an expression that failed; it never gets into a row. The numbers are written
// nowhere.
const (
	KindNull Kind = iota
	KindFailed
	KindBool
	KindInt
	KindFloat
	KindString
	KindTimestamp
	KindJSON
)

var kindNames = [...]string{"null", "failed", "bool", "int", "float", "string", "timestamp", "json"}

func (k Kind) String() string { return kindNames[k] }

// Value is a value of some kind in 16 bytes. The zero Value is null.
//
//	a string, a JSON text   p is its first byte, n its length, and its kind in the highest byte
//	a failure               p is the *error, n its kind in the highest byte
//	any other               p is the place of its kind in kinds, n the bits of the number
type Value struct {
	p unsafe.Pointer
	n uint64
}

// kinds gives each kind an address, which no text and no error has.
var kinds [KindJSON + 1]byte

const (
	kindShift = 56
	lengths   = 1<<kindShift - 1
)

// bitsOf makes a value of the bits of a number.
func bitsOf(k Kind, n uint64) Value { return Value{unsafe.Pointer(&kinds[k]), n} }

func textOf(k Kind, s string) Value {
	if s == "" {
		return Value{n: uint64(k) << kindShift} // what it points to is nobody's business
	}
	return Value{unsafe.Pointer(unsafe.StringData(s)), uint64(len(s)) | uint64(k)<<kindShift}
}

// Null is the value that is none.
var Null Value

// Bool makes a bool.
func Bool(b bool) Value {
	if b {
		return bitsOf(KindBool, 1)
	}
	return bitsOf(KindBool, 0)
}

// Int makes an integer.
func Int(i int64) Value { return bitsOf(KindInt, uint64(i)) }

// Float makes a floating-point number.
func Float(f float64) Value { return bitsOf(KindFloat, math.Float64bits(f)) }

// Timestamp makes a point in time: milliseconds since the Unix epoch.
func Timestamp(ms int64) Value { return bitsOf(KindTimestamp, uint64(ms)) }

// String makes a string that shares the bytes of s.
func String(s string) Value { return textOf(KindString, s) }

// JSON makes a value of a JSON text, which is not looked at.
func JSON(text string) Value { return textOf(KindJSON, text) }

// Failed makes the outcome of an expression that failed. The error is made when the job is loaded, so that a failure
// costs nothing and travels through further expressions as null does.
func Failed(err *error) Value { return Value{unsafe.Pointer(err), uint64(KindFailed) << kindShift} }

// Kind returns the value's kind.
func (v Value) Kind() Kind {
	if at := uintptr(v.p) - uintptr(unsafe.Pointer(&kinds)); at < uintptr(len(kinds)) {
		return Kind(at)
	}
	return Kind(v.n >> kindShift)
}

// IsNull reports whether there is no value.
func (v Value) IsNull() bool { return v.p == nil && v.n == 0 }

// Missing reports whether an operation has nothing to work on: the value is null or failed, and so is the outcome.
func (v Value) Missing() bool { return v.Kind() <= KindFailed }

// Bool is the value of a bool. This method and the next ones do not check the kind.
func (v Value) Bool() bool { return v.n != 0 }

// Int is the value of an integer, or a timestamp's milliseconds.
func (v Value) Int() int64 { return int64(v.n) }

// Float is the value of a floating-point number.
func (v Value) Float() float64 { return math.Float64frombits(v.n) }

// Str is the value of a string, or a JSON text.
func (v Value) Str() string { return unsafe.String((*byte)(v.p), int(v.n&lengths)) }

// Bytes are the bytes of a string, which must not be changed: nil if the value is null, and not nil if it is empty.
func (v Value) Bytes() []byte {
	switch {
	case v.IsNull():
		return nil
	case v.p == nil:
		return []byte{}
	}
	return unsafe.Slice((*byte)(v.p), int(v.n&lengths))
}

// Err is the error of a failed value, nil for any other.
func (v Value) Err() error {
	if v.Kind() != KindFailed {
		return nil
	}
	return *(*error)(v.p)
}

// Equal reports whether two values have the same kind and content.
func (v Value) Equal(w Value) bool {
	k := v.Kind()
	if k != w.Kind() {
		return false
	}
	switch k {
	case KindString, KindJSON:
		return v.Str() == w.Str()
	case KindFloat:
		return v.Float() == w.Float()
	}
	return v.n == w.n
}

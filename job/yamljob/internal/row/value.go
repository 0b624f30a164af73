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

// Value is a value of some kind in 24 bytes. The zero Value is null.
type Value struct {
	p unsafe.Pointer // the bytes of a string or JSON text; the *error of a failure
	n uint64         // bits of a number, or a length
	k Kind
}

// Null is the value that is none.
var Null Value

// Bool makes a bool.
func Bool(b bool) Value {
	if b {
		return Value{n: 1, k: KindBool}
	}
	return Value{k: KindBool}
}

// Int makes an integer.
func Int(i int64) Value { return Value{n: uint64(i), k: KindInt} }

// Float makes a floating-point number.
func Float(f float64) Value { return Value{n: math.Float64bits(f), k: KindFloat} }

// Timestamp makes a point in time: milliseconds since the Unix epoch.
func Timestamp(ms int64) Value { return Value{n: uint64(ms), k: KindTimestamp} }

// String makes a string that shares the bytes of s.
func String(s string) Value {
	return Value{p: unsafe.Pointer(unsafe.StringData(s)), n: uint64(len(s)), k: KindString}
}

// JSON makes a value of a JSON text, which is not looked at.
func JSON(text string) Value {
	return Value{p: unsafe.Pointer(unsafe.StringData(text)), n: uint64(len(text)), k: KindJSON}
}

// Failed makes the outcome of an expression that failed. The error is made when the job is loaded, so that a failure
// costs nothing and travels through further expressions as null does.
func Failed(err *error) Value { return Value{p: unsafe.Pointer(err), k: KindFailed} }

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.k }

// IsNull reports whether there is no value.
func (v Value) IsNull() bool { return v.k == KindNull }

// Missing reports whether an operation has nothing to work on: the value is null or failed, and so is the outcome.
func (v Value) Missing() bool { return v.k <= KindFailed }

// Bool is the value of a bool. This method and the next ones do not check the kind.
func (v Value) Bool() bool { return v.n != 0 }

// Int is the value of an integer, or a timestamp's milliseconds.
func (v Value) Int() int64 { return int64(v.n) }

// Float is the value of a floating-point number.
func (v Value) Float() float64 { return math.Float64frombits(v.n) }

// Str is the value of a string, or a JSON text.
func (v Value) Str() string { return unsafe.String((*byte)(v.p), int(v.n)) }

// Err is the error of a failed value, nil for any other.
func (v Value) Err() error {
	if v.k != KindFailed {
		return nil
	}
	return *(*error)(v.p)
}

// Equal reports whether two values have the same kind and content.
func (v Value) Equal(w Value) bool {
	if v.k != w.k {
		return false
	}
	switch v.k {
	case KindString, KindJSON:
		return v.Str() == w.Str()
	case KindFloat:
		return v.Float() == w.Float()
	}
	return v.n == w.n
}

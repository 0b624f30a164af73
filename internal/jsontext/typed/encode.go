package typed

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/weirstream/weir/internal/jsontext"
)

// Encoder writes values of type T. It is safe for concurrent use.
type Encoder[T any] struct{ plan *value }

// NewEncoder makes the plan of T. The mistakes name the field that has no JSON.
func NewEncoder[T any]() (Encoder[T], []error) {
	v, mistakes := plan(reflect.TypeFor[T](), true)
	return Encoder[T]{v}, mistakes
}

// Append appends the JSON text of *v. After an error dst comes back as it was.
func (e Encoder[T]) Append(dst []byte, v *T) ([]byte, error) {
	if keep {
		kept = *v
	}
	return e.plan.encode(dst, unsafe.Pointer(v))
}

func (v *value) encode(dst []byte, p unsafe.Pointer) ([]byte, error) {
	out, bad := v.append(dst, p, 0)
	if bad != nil {
		return dst, bad.err()
	}
	return out, nil
}

// append appends what lies at p, inside depth objects and arrays.
func (v *value) append(dst []byte, p unsafe.Pointer, depth int) ([]byte, *problem) {
	switch v.kind {
	case kindString:
		return jsontext.AppendString(dst, *(*string)(p)), nil
	case kindFloat:
		return v.appendFloat(dst, p)
	case kindInt:
		return strconv.AppendInt(dst, v.loadInt(p), 10), nil
	case kindUint:
		return strconv.AppendUint(dst, v.loadUint(p), 10), nil
	case kindBool:
		return strconv.AppendBool(dst, *(*bool)(p)), nil
	case kindObject:
		return v.object.append(dst, p, depth+1)
	case kindPointer:
		if at := *(*unsafe.Pointer)(p); at != nil {
			return v.elem.append(dst, at, depth)
		}
	case kindSlice:
		if s := *(*slice)(p); s.data != nil {
			return v.appendSlice(dst, s, depth+1)
		}
	case kindBytes:
		if b := *(*[]byte)(p); b != nil {
			return appendBytes(dst, b), nil
		}
	case kindTime:
		t := *(*time.Time)(p)
		dst, err := t.AppendText(append(dst, '"'))
		if err != nil {
			return nil, &problem{what: fmt.Sprintf("RFC 3339 has no text for %v", t)}
		}
		return append(dst, '"'), nil
	case kindRaw:
		if text := *(*[]byte)(p); text != nil {
			dst, err := jsontext.AppendCompact(dst, unsafe.String(unsafe.SliceData(text), len(text)))
			if err != nil {
				return nil, &problem{what: err.Error()}
			}
			return dst, nil
		}
	case kindOther:
		return v.appendOther(dst, p, v.typ)
	}
	return append(dst, "null"...), nil
}

var tooDeep = &problem{what: fmt.Sprintf("more than %d values inside each other: does one contain itself?", jsontext.MaxDepth)}

// append appends the struct at p; it is the depth-th object or array that is open.
func (o *object) append(dst []byte, p unsafe.Pointer, depth int) ([]byte, *problem) {
	if depth > jsontext.MaxDepth {
		return nil, tooDeep
	}
	start := len(dst)
	for i := range o.fields {
		f := &o.fields[i]
		at := f.address(p, false)
		if at == nil || f.omit != 0 && f.omits(at) {
			continue
		}
		dst = append(dst, f.prefix...)
		var bad *problem
		if f.quoted != nil {
			dst, bad = f.value.appendOther(dst, at, f.quoted)
		} else {
			dst, bad = f.value.append(dst, at, depth)
		}
		if bad != nil {
			if bad == tooDeep {
				return nil, bad // the path would have thousands of steps
			}
			return nil, bad.in(f.name)
		}
	}
	if len(dst) == start {
		return append(dst, "{}"...), nil
	}
	dst[start] = '{' // in place of the comma
	return append(dst, '}'), nil
}

func (v *value) appendFloat(dst []byte, p unsafe.Pointer) ([]byte, *problem) {
	var f float64
	if v.bits == 32 {
		f = float64(*(*float32)(p))
	} else {
		f = *(*float64)(p)
	}
	if f-f != 0 {
		return nil, &problem{what: fmt.Sprintf("JSON has no number for %v", f)}
	}
	if v.bits == 32 {
		return jsontext.AppendFloat32(dst, float32(f)), nil
	}
	return jsontext.AppendFloat(dst, f), nil
}

func (v *value) loadInt(p unsafe.Pointer) int64 {
	switch v.bits {
	case 8:
		return int64(*(*int8)(p))
	case 16:
		return int64(*(*int16)(p))
	case 32:
		return int64(*(*int32)(p))
	}
	return *(*int64)(p)
}

func (v *value) loadUint(p unsafe.Pointer) uint64 {
	switch v.bits {
	case 8:
		return uint64(*(*uint8)(p))
	case 16:
		return uint64(*(*uint16)(p))
	case 32:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

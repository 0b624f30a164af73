package typed

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"unsafe"
)

// appendSlice appends an array; it is the depth-th object or array that is open.
func (v *value) appendSlice(dst []byte, s slice, depth int) ([]byte, *problem) {
	dst = append(dst, '[')
	for n := range s.len {
		if n > 0 {
			dst = append(dst, ',')
		}
		var bad *problem
		if dst, bad = v.elem.append(dst, unsafe.Add(s.data, uintptr(n)*v.elem.typ.Size()), depth); bad != nil {
			if bad == tooDeep {
				return nil, bad
			}
			return nil, bad.in("[" + strconv.Itoa(n) + "]")
		}
	}
	return append(dst, ']'), nil
}

func appendBytes(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// appendOther lets encoding/json write what lies at p. t is its type, or a struct of it alone with the option "string".
func (v *value) appendOther(dst []byte, p unsafe.Pointer, t reflect.Type) ([]byte, *problem) {
	var x any
	if v.addressable {
		x = at(t, p).Addr().Interface() // behind a pointer or in a slice: in the heap
	} else {
		x = at(t, p).Interface() // a copy
	}
	b := buffer{dst}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return nil, &problem{what: err.Error()}
	}
	text := b.bytes[:len(b.bytes)-1] // without the end of the line
	if t != v.typ {
		quoted := text[len(dst)+len(`{"V":`) : len(text)-1]
		text = append(text[:len(dst)], quoted...)
	}
	return text, nil
}

// buffer is an io.Writer that appends.
type buffer struct{ bytes []byte }

func (b *buffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

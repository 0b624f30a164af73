package typed

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/weirstream/weir/internal/jsontext"
)

// readSlice reads the array whose bracket is s[i]; it is the depth-th one that is open. Elements that are there already, since
// the name came twice, are read into again, as encoding/json does.
func (v *value) readSlice(s string, i int, p unsafe.Pointer, depth int) (int, *problem) {
	if depth > jsontext.MaxDepth {
		return ^i, nil
	}
	to := (*slice)(p)
	if i = jsontext.SkipSpace(s, i+1); i < len(s) && s[i] == ']' {
		*to = slice{data: reflect.MakeSlice(v.typ, 0, 0).UnsafePointer()}
		return i + 1, nil
	}
	for n := 0; ; n++ {
		if n == to.cap {
			grown := reflect.MakeSlice(v.typ, max(4, 2*n), max(4, 2*n))
			reflect.Copy(grown, reflect.SliceAt(v.elem.typ, to.data, n))
			to.data, to.cap = grown.UnsafePointer(), grown.Len()
		}
		to.len = max(to.len, n+1)
		var bad *problem
		if i, bad = v.elem.read(s, i, unsafe.Add(to.data, uintptr(n)*v.elem.typ.Size()), depth); bad != nil {
			return 0, bad.in("[" + strconv.Itoa(n) + "]")
		}
		if i < 0 {
			return i, nil
		}
		if i = jsontext.SkipSpace(s, i); i < len(s) && s[i] == ',' {
			i = jsontext.SkipSpace(s, i+1)
			continue
		}
		if i >= len(s) || s[i] != ']' {
			return ^i, nil
		}
		to.len = n + 1
		return i + 1, nil
	}
}

// readOther lets encoding/json read the value at s[i]. t is the type of what lies at p, or a struct of it alone with the
// option "string".
func (v *value) readOther(s string, i int, p unsafe.Pointer, depth int, t reflect.Type) (int, *problem) {
	end := jsontext.ScanValue(s, i, depth)
	if end < 0 {
		return end, nil
	}
	text := bytesOf(s[i:end])
	if t != v.typ {
		text = append(append([]byte(`{"V":`), text...), '}')
	}
	c := copyOf(t, p)
	if err := json.Unmarshal(text, c.Interface()); err != nil {
		bad := v.mismatch(s, i, end)
		if t != v.typ {
			bad.wanted += " in a string"
		}
		return 0, bad
	}
	at(t, p).Set(c.Elem())
	return end, nil
}

func (v *value) readBytes(s string, i int, p unsafe.Pointer) (int, *problem) {
	end, escaped := jsontext.ScanString(s, i)
	if end < 0 {
		return end, nil
	}
	text := s[i+1 : end-1]
	if escaped {
		text = unescape(text)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0, v.mismatch(s, i, end)
	}
	*(*[]byte)(p) = b
	return end, nil
}

package typed

import (
	"errors"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/weirstream/weir/internal/jsontext"
)

// Decoder reads values of type T. It is safe for concurrent use.
type Decoder[T any] struct{ plan *value }

// NewDecoder makes the plan of T. The mistakes name the field that no JSON can be read into.
func NewDecoder[T any]() (Decoder[T], []error) {
	v, mistakes := plan(reflect.TypeFor[T](), false)
	return Decoder[T]{v}, mistakes
}

// Decode reads a text into *v, which shares the text's bytes and is partly filled after an error. What the text does not
// name stays as it is.
func (d Decoder[T]) Decode(text []byte, v *T) error {
	if keep {
		kept = *v
	}
	return d.plan.decode(text, unsafe.Pointer(v))
}

var errNoText = errors.New("want JSON, got a null value (a tombstone)")

func (v *value) decode(text []byte, p unsafe.Pointer) error {
	if text == nil {
		return errNoText
	}
	s := unsafe.String(unsafe.SliceData(text), len(text))
	i, bad := v.read(s, jsontext.SkipSpace(s, 0), p, 0)
	if bad != nil {
		return bad.err()
	}
	if i < 0 {
		return jsontext.SyntaxError(s, i)
	}
	if i = jsontext.SkipSpace(s, i); i < len(s) {
		return jsontext.SyntaxError(s, ^i)
	}
	return nil
}

// read reads the value at s[i], inside depth objects and arrays, into what lies at p. It returns the position after it,
// negative for a syntax error.
func (v *value) read(s string, i int, p unsafe.Pointer, depth int) (int, *problem) {
	if i >= len(s) {
		return ^i, nil
	}
	c := s[i]
	switch v.kind {
	case kindString:
		if c == '"' {
			end, escaped := jsontext.ScanString(s, i)
			if end < 0 {
				return end, nil
			}
			*(*string)(p) = s[i+1 : end-1]
			if escaped {
				*(*string)(p) = unescape(s[i+1 : end-1])
			}
			return end, nil
		}
	case kindFloat:
		if c-'0' <= 9 || c == '-' {
			return v.readFloat(s, i, p)
		}
	case kindInt:
		if size, negative, end, ok := jsontext.ScanInt(s, i); ok && v.storeInt(p, size, negative) {
			return end, nil
		}
	case kindUint:
		if size, negative, end, ok := jsontext.ScanInt(s, i); ok && !negative && size>>(v.bits-1)>>1 == 0 {
			v.storeUint(p, size)
			return end, nil
		} else if !ok && v.bits == 64 {
			// Twenty digits may fit.
			if end, _ := jsontext.ScanNumber(s, i); end > 0 {
				if n, err := strconv.ParseUint(s[i:end], 10, 64); err == nil {
					v.storeUint(p, n)
					return end, nil
				}
			}
		}
	case kindBool:
		if c == 't' || c == 'f' {
			*(*bool)(p) = c == 't'
			return jsontext.ScanValue(s, i, depth), nil
		}
	case kindObject:
		if c == '{' {
			return v.object.read(s, i, p, depth+1)
		}
	case kindPointer:
		if c != 'n' {
			at := (*unsafe.Pointer)(p)
			if *at == nil {
				*at = reflect.New(v.elem.typ).UnsafePointer()
			}
			return v.elem.read(s, i, *at, depth)
		}
	case kindSlice, kindBytes:
		if c == '[' {
			return v.readSlice(s, i, p, depth+1)
		}
		if c == '"' && v.kind == kindBytes {
			return v.readBytes(s, i, p)
		}
	case kindTime:
		if c == '"' {
			end, _ := jsontext.ScanString(s, i)
			if end > 0 && (*time.Time)(p).UnmarshalJSON(bytesOf(s[i:end])) != nil {
				return 0, v.mismatch(s, i, end)
			}
			return end, nil
		}
	case kindRaw:
		end := jsontext.ScanValue(s, i, depth)
		if end > 0 {
			*(*[]byte)(p) = bytesOf(s[i:end])
		}
		return end, nil
	case kindOther:
		return v.readOther(s, i, p, depth, v.typ)
	}
	end := jsontext.ScanValue(s, i, depth)
	switch {
	case end < 0:
		return end, nil
	case c != 'n':
		return 0, v.mismatch(s, i, end)
	case v.kind == kindPointer:
		*(*unsafe.Pointer)(p) = nil
	case v.kind == kindSlice || v.kind == kindBytes:
		*(*slice)(p) = slice{}
	}
	return end, nil
}

// read reads the object whose bracket is s[i] into the struct at p; it is the depth-th one that is open.
func (o *object) read(s string, i int, p unsafe.Pointer, depth int) (int, *problem) {
	if depth > jsontext.MaxDepth {
		return ^i, nil
	}
	if i = jsontext.SkipSpace(s, i+1); i < len(s) && s[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(s) || s[i] != '"' {
			return ^i, nil
		}
		var f int
		if word, n, ok := jsontext.ScanName(s, i); ok {
			f = o.names.find(word, s[i+1:i+1+n])
			i += n + 2
		} else {
			end, escaped := jsontext.ScanString(s, i)
			if end < 0 {
				return end, nil
			}
			name := s[i+1 : end-1]
			if escaped {
				name = unescape(name)
			}
			f = o.names.find(jsontext.NameWord(name), name)
			i = end
		}
		if i = jsontext.SkipSpace(s, i); i >= len(s) || s[i] != ':' {
			return ^i, nil
		}
		i = jsontext.SkipSpace(s, i+1)
		if f < 0 && i < len(s) && s[i] == '"' {
			i, _ = jsontext.ScanString(s, i)
		} else if f < 0 {
			i = jsontext.ScanValue(s, i, depth)
		} else {
			var bad *problem
			if i, bad = o.fields[f].read(s, i, p, depth); bad != nil {
				return 0, bad.in(o.fields[f].name)
			}
		}
		if i < 0 {
			return i, nil
		}
		if i = jsontext.SkipSpace(s, i); i < len(s) && s[i] == ',' {
			i = jsontext.SkipSpace(s, i+1)
			continue
		}
		if i >= len(s) || s[i] != '}' {
			return ^i, nil
		}
		return i + 1, nil
	}
}

func (f *field) read(s string, i int, p unsafe.Pointer, depth int) (int, *problem) {
	p = f.address(p, true)
	if f.quoted != nil {
		return f.value.readOther(s, i, p, depth, f.quoted)
	}
	return f.value.read(s, i, p, depth)
}

func (v *value) readFloat(s string, i int, p unsafe.Pointer) (int, *problem) {
	if m, decimals, end, ok := jsontext.ScanDecimal(s, i); ok && v.bits == 64 {
		*(*float64)(p) = jsontext.Quotient(m, decimals)
		return end, nil
	}
	end, _ := jsontext.ScanNumber(s, i)
	if end < 0 {
		return end, nil
	}
	f, err := strconv.ParseFloat(s[i:end], v.bits)
	if err != nil {
		return 0, v.mismatch(s, i, end)
	}
	if v.bits == 64 {
		*(*float64)(p) = f
	} else {
		*(*float32)(p) = float32(f)
	}
	return end, nil
}

// storeInt reports whether an integer of this sign and size fits, and stores it if so.
func (v *value) storeInt(p unsafe.Pointer, size uint64, negative bool) bool {
	limit := uint64(1)<<(v.bits-1) - 1 // of the positive ones
	if negative {
		limit++
	}
	if size > limit {
		return false
	}
	n := int64(size)
	if negative {
		n = -n
	}
	switch v.bits {
	case 8:
		*(*int8)(p) = int8(n)
	case 16:
		*(*int16)(p) = int16(n)
	case 32:
		*(*int32)(p) = int32(n)
	default:
		*(*int64)(p) = n
	}
	return true
}

func (v *value) storeUint(p unsafe.Pointer, n uint64) {
	switch v.bits {
	case 8:
		*(*uint8)(p) = uint8(n)
	case 16:
		*(*uint16)(p) = uint16(n)
	case 32:
		*(*uint32)(p) = uint32(n)
	default:
		*(*uint64)(p) = n
	}
}

func unescape(s string) string {
	b := jsontext.AppendUnescaped(make([]byte, 0, len(s)), s)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// bytesOf returns the bytes of a string without room behind them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

package row

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/weirstream/weir/internal/jsontext"
)

// Key encoding (docs/formats/job-yaml.md; frozen, since the key is part of the state and of what a sink writes):
//
//	one value   its text: a string's bytes, digits, true, false, RFC 3339 in UTC with milliseconds.
//	            But null (also a float that JSON has no number for), and a string that begins with '[', are written as an array of one.
//	several     a JSON array, without spaces: ["AA",17,null]. Bytes that are not UTF-8 stay as they are.
//
// Each list of values has one encoding, and no other list of the same kinds has it.

// AppendKey appends the encoded key of values.
func AppendKey(dst []byte, values ...Value) []byte {
	if len(values) == 1 {
		switch v := values[0]; v.Kind() {
		case KindNull, KindFailed:
		case KindFloat:
			if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return jsontext.AppendFloat(dst, f)
			}
		case KindString:
			if s := v.Str(); s == "" || s[0] != '[' {
				return append(dst, s...)
			}
		case KindTimestamp:
			return AppendTime(dst, v.Int())
		default:
			return AppendValue(dst, v)
		}
	}
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind() == KindString {
			dst = appendKeyString(dst, v.Str())
		} else {
			dst = AppendValue(dst, v)
		}
	}
	return append(dst, ']')
}

// PlainKey returns the key of one string without copying it; ok is false if the key needs AppendKey.
func PlainKey(v Value) (key string, ok bool) {
	if v.Kind() != KindString {
		return "", false
	}
	s := v.Str()
	return s, s == "" || s[0] != '['
}

func appendKeyString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\b':
			dst = append(dst, `\u0008`...)
		case c == '\f':
			dst = append(dst, `\u000c`...)
		case c < ' ' || c == '"' || c == '\\':
			dst = jsontext.AppendEscape(dst, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

var errKey = errors.New("not an encoded key")

// DecodeKey reads an encoded key into values of the given kinds; strings share its bytes where they can.
func DecodeKey(key string, kinds []Kind, values []Value) error {
	if len(kinds) == 1 && !strings.HasPrefix(key, "[") {
		return decodeKeyText(key, kinds[0], &values[0])
	}
	i := 0
	for n, kind := range kinds {
		if i++; i >= len(key) {
			return errKey
		}
		var end int
		if key[i] == '"' {
			var escaped bool
			if end, escaped = jsontext.ScanString(key, i); end < 0 {
				return errKey
			}
			text := key[i+1 : end-1]
			if escaped {
				b := jsontext.AppendUnescaped(nil, text)
				text = unsafe.String(unsafe.SliceData(b), len(b))
			}
			if err := decodeKeyText(text, kind, &values[n]); err != nil {
				return err
			}
		} else if end = jsontext.ScanValue(key, i, 0); end < 0 {
			return errKey
		} else if text := key[i:end]; text == "null" {
			values[n] = Null
		} else if err := decodeKeyText(text, kind, &values[n]); err != nil {
			return err
		}
		if i = end; i >= len(key) {
			return errKey
		}
	}
	if key[i:] != "]" {
		return errKey
	}
	return nil
}

func decodeKeyText(text string, kind Kind, v *Value) (err error) {
	switch kind {
	case KindString:
		*v = String(text)
	case KindBool:
		var b bool
		b, err = strconv.ParseBool(text)
		*v = Bool(b)
	case KindInt:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		*v = Int(n)
	case KindFloat:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		*v = Float(f)
	case KindTimestamp:
		var t time.Time
		t, err = time.Parse(time.RFC3339, text)
		*v = Timestamp(t.UnixMilli())
	default:
		err = errors.New("bad kind")
	}
	if err != nil {
		return fmt.Errorf("key %q: %w as %v", text, errKey, kind)
	}
	return nil
}

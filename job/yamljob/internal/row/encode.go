package row

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Encoder writes the rows of one schema as JSON objects, the fields in the order of the schema. It is safe for concurrent
// use.
type Encoder struct {
	prefixes []string // {"first": ,"second": ...
	millis   bool
}

// NewEncoder makes an encoder. Timestamps are written as RFC 3339 text with milliseconds, in UTC, or as numbers of
// milliseconds since the Unix epoch.
func NewEncoder(s *Schema, millis bool) *Encoder {
	e := &Encoder{millis: millis}
	for i, f := range s.Fields {
		b := []byte{','}
		if i == 0 {
			b[0] = '{'
		}
		e.prefixes = append(e.prefixes, string(append(AppendString(b, f.Name), ':')))
	}
	return e
}

// Append appends a row's JSON text.
func (e *Encoder) Append(dst []byte, r *Row) []byte {
	if len(e.prefixes) == 0 {
		return append(dst, "{}"...)
	}
	for i, p := range e.prefixes {
		dst = append(dst, p...)
		if v := r.Values[i]; v.k == KindTimestamp && e.millis {
			dst = strconv.AppendInt(dst, v.Int(), 10)
		} else {
			dst = AppendValue(dst, v)
		}
	}
	return append(dst, '}')
}

// AppendValue appends a value as JSON. A float that JSON has no number for (NaN, infinities) is null.
func AppendValue(dst []byte, v Value) []byte {
	switch v.k {
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case KindFloat:
		return AppendFloat(dst, v.Float())
	case KindString:
		return AppendString(dst, v.Str())
	case KindTimestamp:
		dst = append(dst, '"')
		return append(AppendTime(dst, v.Int()), '"')
	case KindJSON:
		return append(dst, v.Str()...)
	}
	return append(dst, "null"...)
}

// AppendFloat appends the shortest number that reads back as f, in the form that encoding/json uses.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(f)
	if abs < 1e6 && f != 0 {
		// Amounts have few decimals. With at most 15 digits, n/100 is the shortest text of f if it is f.
		if n := math.Round(f * 100); n/100 == f {
			return appendHundredths(dst, int64(n))
		}
	}
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		// e-07 is written e-7.
		if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

func appendHundredths(dst []byte, n int64) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	dst = strconv.AppendInt(dst, n/100, 10)
	if n %= 100; n != 0 {
		dst = append(dst, '.', byte('0'+n/10))
		if n%10 != 0 {
			dst = append(dst, byte('0'+n%10))
		}
	}
	return dst
}

// AppendTime appends a point in time as RFC 3339 text with milliseconds, in UTC.
func AppendTime(dst []byte, ms int64) []byte {
	t := time.UnixMilli(ms).UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
	}
	hour, minute, second := t.Clock()
	two := func(n int) { dst = append(dst, byte('0'+n/10), byte('0'+n%10)) }
	two(year / 100)
	two(year % 100)
	dst = append(dst, '-')
	two(int(month))
	dst = append(dst, '-')
	two(day)
	dst = append(dst, 'T')
	two(hour)
	dst = append(dst, ':')
	two(minute)
	dst = append(dst, ':')
	two(second)
	frac := t.Nanosecond() / 1e6
	return append(dst, '.', byte('0'+frac/100), byte('0'+frac/10%10), byte('0'+frac%10), 'Z')
}

// AppendString appends a string as JSON. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			if w := word8(s, i); special8(w)|w&highs == 0 {
				i += 8
				continue
			}
		}
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			dst = append(append(dst, s[from:i]...), `\ufffd`...)
		} else {
			dst = appendEscape(append(dst, s[from:i]...), c)
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

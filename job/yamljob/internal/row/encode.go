package row

import (
	"strconv"
	"time"

	"github.com/weirstream/weir/internal/jsontext"
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
	s.all()
	e := &Encoder{millis: millis}
	for i, f := range s.Fields {
		b := []byte{','}
		if i == 0 {
			b[0] = '{'
		}
		e.prefixes = append(e.prefixes, string(append(jsontext.AppendString(b, f.Name), ':')))
	}
	return e
}

// Append appends a row's JSON text.
func (e *Encoder) Append(dst []byte, r Row) []byte {
	if len(e.prefixes) == 0 {
		return append(dst, "{}"...)
	}
	for i, p := range e.prefixes {
		dst = append(dst, p...)
		if v := r.Values[i]; v.Kind() == KindTimestamp && e.millis {
			dst = strconv.AppendInt(dst, v.Int(), 10)
		} else {
			dst = AppendValue(dst, v)
		}
	}
	return append(dst, '}')
}

// AppendValue appends a value as JSON. A float that JSON has no number for (NaN, infinities) is null.
func AppendValue(dst []byte, v Value) []byte {
	switch v.Kind() {
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case KindFloat:
		return jsontext.AppendFloat(dst, v.Float())
	case KindString:
		return jsontext.AppendString(dst, v.Str())
	case KindTimestamp:
		dst = append(dst, '"')
		return append(AppendTime(dst, v.Int()), '"')
	case KindJSON:
		return append(dst, v.Str()...)
	}
	return append(dst, "null"...)
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

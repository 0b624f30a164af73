package row

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unsafe"

	"github.com/weirstream/weir/internal/jsontext"
)

// readField reads the value at s[i] as what the field was declared to be. It returns the position after it, negative for
// a syntax error; the error says that the type is wrong.
func readField(a *Arena, s string, i int, f *Field, v *Value) (int, error) {
	if i >= len(s) {
		return ^i, nil
	}
	c := s[i]
	switch {
	case c == 'n':
		*v = Null
		return jsontext.ScanWord(s, i, "null"), nil
	case f.Kind == KindJSON:
		end := jsontext.ScanValue(s, i, 1)
		if end > 0 {
			*v = JSON(s[i:end])
		}
		return end, nil
	case c == '"' && (f.Kind == KindString || f.Kind == KindTimestamp):
		end, escaped := jsontext.ScanString(s, i)
		if end < 0 {
			return end, nil
		}
		text := s[i+1 : end-1]
		if escaped {
			b := jsontext.AppendUnescaped(a.Buffer(len(text)), text)
			a.Keep(b)
			text = unsafe.String(unsafe.SliceData(b), len(b))
		}
		if f.Kind == KindString {
			*v = String(text)
			return end, nil
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil || t.Year() < 0 || t.Year() > 9999 {
			return 0, wrong(f, s[i:end])
		}
		*v = Timestamp(t.UnixMilli())
		return end, nil
	case f.Kind == KindBool && (c == 't' || c == 'f'):
		*v = Bool(c == 't')
		return jsontext.ScanValue(s, i, 1), nil
	case (c == '-' || c-'0' <= 9) && (f.Kind == KindInt || f.Kind == KindFloat || f.Kind == KindTimestamp):
		if f.Kind == KindFloat {
			if m, decimals, end, ok := jsontext.ScanDecimal(s, i); ok {
				*v = Float(jsontext.Quotient(m, decimals))
				return end, nil
			}
		} else if f.Kind == KindInt || f.Unit == Millis {
			if size, negative, end, ok := jsontext.ScanInt(s, i); ok && size <= math.MaxInt64 {
				if negative {
					size = -size
				}
				*v = bitsOf(f.Kind, size)
				return end, nil
			}
		}
		end, real := jsontext.ScanNumber(s, i)
		if end < 0 {
			return end, nil
		}
		if !number(s[i:end], real, f, v) {
			return 0, wrong(f, s[i:end])
		}
		return end, nil
	}
	end := jsontext.ScanValue(s, i, 1)
	if end < 0 {
		return end, nil
	}
	return 0, wrong(f, s[i:end])
}

func wrong(f *Field, got string) error {
	if len(got) > 60 {
		got = got[:60] + "..."
	}
	return fmt.Errorf("field %q: want %v, got %s", f.Name, f.Kind, got)
}

// number reads a JSON number. Integers are exact; one with a fraction or an exponent is taken if it is whole.
func number(text string, real bool, f *Field, v *Value) bool {
	if f.Kind == KindFloat {
		x, err := strconv.ParseFloat(text, 64)
		*v = Float(x)
		return err == nil
	}
	var n int64
	if !real {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			return false
		}
	} else {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return false
		}
		if f.Kind == KindTimestamp && f.Unit == Seconds {
			if x = math.Floor(x * 1000); math.Abs(x) > 1<<53 {
				return false
			}
			*v = Timestamp(int64(x))
			return true
		}
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return false
		}
		n = int64(x)
	}
	if f.Kind == KindInt {
		*v = Int(n)
		return true
	}
	switch f.Unit {
	case Seconds:
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return false
		}
		n *= 1000
	case Micros:
		n = floorDiv(n, 1000)
	case Nanos:
		n = floorDiv(n, 1_000_000)
	}
	*v = Timestamp(n)
	return true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

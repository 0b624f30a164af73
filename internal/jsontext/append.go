package jsontext

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendFloat appends the shortest number that reads back as f. A float that JSON has no number for (NaN, infinities) is
// null.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(f)
	if abs < 1e6 && f != 0 {
		// Amounts have few decimals. With at most 15 digits, n/100 is the shortest text of f if it is f.
		if n := int64(abs*100 + 0.5); float64(n)/100 == abs {
			if f < 0 {
				dst = append(dst, '-')
			}
			return appendHundredths(dst, n)
		}
	}
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return appendExponent(dst, f, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// AppendFloat32 is AppendFloat for a float32, whose shortest number is another one.
func AppendFloat32(dst []byte, f float32) []byte {
	x := float64(f)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	if abs := float32(math.Abs(x)); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return appendExponent(dst, x, 32)
	}
	return strconv.AppendFloat(dst, x, 'f', -1, 32)
}

func appendExponent(dst []byte, f float64, bits int) []byte {
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	// e-07 is written e-7.
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

func appendHundredths(dst []byte, n int64) []byte {
	dst = strconv.AppendInt(dst, n/100, 10)
	if n %= 100; n != 0 {
		dst = append(dst, '.', byte('0'+n/10))
		if n%10 != 0 {
			dst = append(dst, byte('0'+n%10))
		}
	}
	return dst
}

// AppendString appends a string. Bytes that are not UTF-8 become U+FFFD; U+2028 and U+2029 are escaped, since JavaScript
// takes them for the end of a line.
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
		n := 1
		if c < utf8.RuneSelf {
			dst = AppendEscape(append(dst, s[from:i]...), c)
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				dst = append(append(dst, s[from:i]...), `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				dst = append(append(dst, s[from:i]...), `\u202`...)
				dst = append(dst, byte('0'+r&15))
			default:
				i += n
				continue
			}
		}
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// AppendEscape appends the escape of a control character, a quote or a backslash.
func AppendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendCompact appends a JSON text without the white space between its tokens. The error says where it is not JSON.
func AppendCompact(dst []byte, s string) ([]byte, error) {
	i := ScanValue(s, SkipSpace(s, 0), 0)
	if i < 0 {
		return dst, SyntaxError(s, i)
	}
	if i = SkipSpace(s, i); i < len(s) {
		return dst, SyntaxError(s, ^i)
	}
	for i = 0; i < len(s); {
		from := i
		if s[i] == '"' {
			i, _ = ScanString(s, i)
		} else {
			for i < len(s) && s[i] != '"' && s[i] > ' ' {
				i++
			}
		}
		dst = append(dst, s[from:i]...)
		i = SkipSpace(s, i)
	}
	return dst, nil
}

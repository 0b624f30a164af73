package row

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// The scanner walks JSON text (RFC 8259) without building anything. Positions are offsets into the text; a negative one
// is an error at ^position. encoding/json's Valid is the oracle of its fuzz test.

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10_000

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return i
}

// scanString returns the position after the string that begins at s[i] (its quote), and whether it has escapes.
func scanString(s string, i int) (end int, escaped bool) {
	i++
	for {
		for i+8 <= len(s) {
			m := special8(word8(s, i))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			break
		}
		if i >= len(s) {
			return ^i, escaped
		}
		switch c := s[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = scanEscape(s, i); i < 0 {
				return i, true
			}
		case c < ' ':
			return ^i, escaped
		default:
			i++
		}
	}
}

// word8 returns the eight bytes at i, the first one lowest.
func word8(s string, i int) uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.StringData(s)), i)), 8))
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special8 has bits set if one of eight bytes is a quote, a backslash or a control character; the lowest bit is in the
// first such byte. The tricks are those of "Bit Twiddling Hacks", "Determine if a word has a byte less than n".
func special8(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

func scanEscape(s string, i int) int {
	if i+1 >= len(s) {
		return ^i
	}
	switch s[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if _, ok := hex4(s, i+2); ok {
			return i + 6
		}
	}
	return ^i
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[i : i+4]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// scanNumber returns the position after the number that begins at s[i], and whether it has a fraction or an exponent.
func scanNumber(s string, i int) (end int, real bool) {
	if i < len(s) && s[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return ^i, false
	}
	if i < len(s) && s[i] == '.' {
		real = true
		if i++; !digits() {
			return ^i, true
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		real = true
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return ^i, true
		}
	}
	return i, real
}

// scanDecimal reads a plain number in one go: digits, perhaps a sign before and a fraction behind, at most 15 digits. Its
// value is mantissa / 10^decimals. ok is false for anything else, right or wrong: scanNumber then decides.
func scanDecimal(s string, i int) (mantissa int64, decimals, end int, ok bool) {
	negative := s[i] == '-'
	if negative {
		i++
	}
	first, point := i, -1
	for ; i < len(s); i++ {
		if c := s[i] - '0'; c <= 9 {
			mantissa = mantissa*10 + int64(c)
		} else if s[i] == '.' && point < 0 && i > first {
			point = i
		} else {
			break
		}
		if i-first > 15 {
			return 0, 0, 0, false
		}
	}
	if point >= 0 {
		decimals = i - point - 1
	}
	switch {
	case i == first, point >= 0 && decimals == 0, i < len(s) && (s[i]|0x20 == 'e' || s[i] == '.'):
		return 0, 0, 0, false
	case s[first] == '0' && i > first+1 && point != first+1:
		return 0, 0, 0, false
	}
	if negative {
		mantissa = -mantissa
	}
	return mantissa, decimals, i, !negative || mantissa != 0
}

func scanWord(s string, i int, word string) int {
	if len(s)-i >= len(word) && s[i:i+len(word)] == word {
		return i + len(word)
	}
	return ^i
}

// scanValue returns the position after the value that begins at s[i].
func scanValue(s string, i, depth int) int {
	if i >= len(s) || depth > maxDepth {
		return ^i
	}
	switch s[i] {
	case '"':
		end, _ := scanString(s, i)
		return end
	case 't':
		return scanWord(s, i, "true")
	case 'f':
		return scanWord(s, i, "false")
	case 'n':
		return scanWord(s, i, "null")
	case '{':
		return scanMembers(s, i, '}', depth+1)
	case '[':
		return scanMembers(s, i, ']', depth+1)
	}
	end, _ := scanNumber(s, i)
	return end
}

// scanMembers walks an object or an array, whose opening bracket is s[i].
func scanMembers(s string, i int, closing byte, depth int) int {
	if i = skipSpace(s, i+1); i < len(s) && s[i] == closing {
		return i + 1
	}
	for {
		if closing == '}' {
			if i >= len(s) || s[i] != '"' {
				return ^i
			}
			if i, _ = scanString(s, i); i < 0 {
				return i
			}
			if i = skipSpace(s, i); i >= len(s) || s[i] != ':' {
				return ^i
			}
			i = skipSpace(s, i+1)
		}
		if i = scanValue(s, i, depth); i < 0 {
			return i
		}
		i = skipSpace(s, i)
		switch {
		case i < len(s) && s[i] == closing:
			return i + 1
		case i >= len(s) || s[i] != ',':
			return ^i
		}
		i = skipSpace(s, i+1)
	}
}

// appendUnescaped appends the text of a string's inside, which has been scanned. Half a surrogate pair becomes U+FFFD.
func appendUnescaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			i++
			continue
		}
		switch c := s[i+1]; c {
		case 'u':
			r, _ := hex4(s, i+2)
			i += 6
			if utf16.IsSurrogate(r) {
				if i+1 < len(s) && s[i] == '\\' && s[i+1] == 'u' {
					if low, _ := hex4(s, i+2); utf16.DecodeRune(r, low) != utf8.RuneError {
						dst = utf8.AppendRune(dst, utf16.DecodeRune(r, low))
						i += 6
						continue
					}
				}
				r = utf8.RuneError
			}
			dst = utf8.AppendRune(dst, r)
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// syntaxError says where a text is not JSON; at is what a scan function returned.
func syntaxError(s string, at int) error {
	if at = ^at; at >= len(s) {
		return fmt.Errorf("not JSON: it ends too early, after %d bytes", len(s))
	}
	return fmt.Errorf("not JSON: unexpected %q at byte %d", s[at], at)
}

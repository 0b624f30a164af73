package jsontext

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// MaxDepth is how deep objects and arrays may be nested, as in encoding/json.
const MaxDepth = 10_000

// SkipSpace returns the position of the first byte at or after s[i] that is not white space.
func SkipSpace(s string, i int) int {
	for i < len(s) && s[i] <= ' ' && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return i
}

// ScanString returns the position after the string that begins at s[i] (its quote), and whether it has escapes.
func ScanString(s string, i int) (end int, escaped bool) {
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

// ScanName is for the names of members, which are short. It looks at the string that begins at s[i] (its quote): if that has
// less than eight bytes, none of them to be escaped, and eight bytes of text follow the quote, it returns its NameWord and
// its length. Otherwise ok is false, and ScanString decides.
func ScanName(s string, i int) (word uint64, n int, ok bool) {
	if i+9 > len(s) {
		return 0, 0, false
	}
	w := word8(s, i+1)
	n = bits.TrailingZeros64(special8(w)) >> 3
	return w & (1<<(8*n) - 1), n, n < 8 && s[i+1+n] == '"'
}

// NameWord is a name as a word, to look it up by. A name of less than eight bytes is its bytes, the first one lowest, and
// zeros: no other has that word. In that of a longer one its first and its last eight bytes are mixed.
func NameWord(name string) uint64 {
	if n := len(name); n >= 8 {
		return word8(name, 0) + bits.RotateLeft64(word8(name, n-8), 29)
	}
	var w uint64
	for i := range len(name) {
		w |= uint64(name[i]) << (8 * i)
	}
	return w
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

// ScanWord returns the position after word, which is to stand at s[i].
func ScanWord(s string, i int, word string) int {
	if len(s)-i >= len(word) && s[i:i+len(word)] == word {
		return i + len(word)
	}
	return ^i
}

// ScanValue returns the position after the value that begins at s[i], inside depth objects and arrays.
func ScanValue(s string, i, depth int) int {
	if i >= len(s) {
		return ^i
	}
	switch s[i] {
	case '"':
		end, _ := ScanString(s, i)
		return end
	case 't':
		return ScanWord(s, i, "true")
	case 'f':
		return ScanWord(s, i, "false")
	case 'n':
		return ScanWord(s, i, "null")
	case '{':
		return scanMembers(s, i, '}', depth+1)
	case '[':
		return scanMembers(s, i, ']', depth+1)
	}
	end, _ := ScanNumber(s, i)
	return end
}

// scanMembers walks an object or an array, whose opening bracket is s[i]; it is the depth-th one that is open.
func scanMembers(s string, i int, closing byte, depth int) int {
	if depth > MaxDepth {
		return ^i
	}
	if i = SkipSpace(s, i+1); i < len(s) && s[i] == closing {
		return i + 1
	}
	for {
		if closing == '}' {
			if i >= len(s) || s[i] != '"' {
				return ^i
			}
			if i, _ = ScanString(s, i); i < 0 {
				return i
			}
			if i = SkipSpace(s, i); i >= len(s) || s[i] != ':' {
				return ^i
			}
			i = SkipSpace(s, i+1)
		}
		if i = ScanValue(s, i, depth); i < 0 {
			return i
		}
		i = SkipSpace(s, i)
		switch {
		case i < len(s) && s[i] == closing:
			return i + 1
		case i >= len(s) || s[i] != ',':
			return ^i
		}
		i = SkipSpace(s, i+1)
	}
}

// AppendUnescaped appends the text of a string's inside, which has been scanned. Half a surrogate pair becomes U+FFFD.
func AppendUnescaped(dst []byte, s string) []byte {
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

// SyntaxError says where a text is not JSON; at is what a Scan function returned.
func SyntaxError(s string, at int) error {
	if at = ^at; at >= len(s) {
		return fmt.Errorf("not JSON: it ends too early, after %d bytes", len(s))
	}
	return fmt.Errorf("not JSON: unexpected %q at byte %d", s[at], at)
}

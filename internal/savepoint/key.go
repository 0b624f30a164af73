package savepoint

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key is the bytes of a key. Its text is the key itself, and in double quotes, as in Go, where the key is empty, begins
// with a quote, begins or ends with a space, or has bytes that do not print.
type Key string

func (k Key) String() string {
	s := string(k)
	if s == "" || s[0] == '"' || strings.TrimSpace(s) != s || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// ParseKey reads what String writes.
func ParseKey(s string) (Key, error) {
	if !strings.HasPrefix(s, `"`) {
		return Key(s), nil
	}
	raw, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf("key %s begins with a quote and is not quoted as in Go", s)
	}
	return Key(raw), nil
}

// MarshalJSON implements [json.Marshaler]: a string, or {"hex": "..."} of bytes that are not UTF-8.
func (k Key) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(k)) {
		return json.Marshal(string(k))
	}
	return json.Marshal(map[string]string{"hex": hex.EncodeToString([]byte(k))})
}

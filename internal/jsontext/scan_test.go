package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// valid is json.Valid by means of the scanner.
func valid(s string) bool {
	i := ScanValue(s, SkipSpace(s, 0), 0)
	return i >= 0 && SkipSpace(s, i) == len(s)
}

func FuzzValuesAreJSONIfEncodingJSONSaysSo(f *testing.F) {
	for _, s := range []string{``, ` {"i":1,"f":-2.5e+7,"s":"x","b":[true, false,null]} `, `{"s":"a\"\\\/\b\u00e9\ud83d\ude00\ud83dx long enough"}`, `[[[{}]],[]]`,
		`[1,]`, `{"a":01}`, "{\"s\":\"\xff\"}", "\"\x1f\"", `1.`, `-`, `1e`, `.5`, `tru`, `{"a"}`, `{"a":1,}`, `{a:1}`, `"\x"`, `"\u12g4"`, `{`, `1 2`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := json.Valid([]byte(s))
		if got := valid(s); got != want {
			t.Fatalf("%q: valid %v, want %v", s, got, want)
		}
		var compact bytes.Buffer
		err := json.Compact(&compact, []byte(s))
		got, ours := AppendCompact([]byte("x"), s)
		if (err == nil) != (ours == nil) || err == nil && string(got[1:]) != compact.String() {
			t.Fatalf("%q: compact %q, %v; want %q, %v", s, got[1:], ours, compact.String(), err)
		}
	})
}

func TestNestingHasTheLimitOfEncodingJSON(t *testing.T) {
	for n := MaxDepth - 1; n <= MaxDepth+1; n++ {
		for _, in := range []string{"", "1"} {
			s := strings.Repeat("[", n) + in + strings.Repeat("]", n)
			if got, want := valid(s), json.Valid([]byte(s)); got != want {
				t.Errorf("%d arrays around %q: valid %v, want %v", n, in, got, want)
			}
		}
	}
}

func TestNamesAreScannedAsStringsAre(t *testing.T) {
	for _, s := range []string{`"":12345678`, `"a":1234567`, `"user":"x"}`, `"seven77":1`, `"eight888":1`, `"a\"b":"xyz"`, `"é":1234567`, "\"a\x01\":12345", `"ab":1}`, `"ab`, `"`} {
		word, n, ok := ScanName(s, 0)
		end, escaped := ScanString(s, 0)
		if short := end > 0 && !escaped && end-2 < 8 && len(s) >= 9; ok != short {
			t.Errorf("%s: ok %v, want %v", s, ok, short)
		}
		if ok && (n != end-2 || word != NameWord(s[1:end-1])) {
			t.Errorf("%s: %d bytes, word %x; want %d, %x", s, n, word, end-2, NameWord(s[1:end-1]))
		}
	}
}

// What the quick functions take, they take for what it is; and what is left to ScanNumber is right or wrong there.
func FuzzQuickNumbersAreNumbers(f *testing.F) {
	for _, s := range []string{"0", "-0", "7", "-17", "12345678", "1234567812345678", "9223372036854775807", "9999999999999999999", "10000000000000000000", "01", "00000000",
		"1.5", "-0.25", "1.", "1e3", "1234567.8", "12345678.9", "123456789012345", "0.000000000000001", "12:34567", "1/345678", "-", "x", "1,2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" {
			return
		}
		end, real := ScanNumber(s, 0)
		if size, negative, e, ok := ScanInt(s, 0); ok {
			n, err := strconv.ParseUint(strings.TrimPrefix(s[:e], "-"), 10, 64)
			if e != end || real || err != nil || n != size || negative != (s[0] == '-') {
				t.Fatalf("%q: integer %v %d up to %d; want %d, %v, up to %d", s, negative, size, e, n, err, end)
			}
		} else if digits := strings.TrimPrefix(s[:max(end, 0)], "-"); end > 0 && !real && len(digits) < 20 && (end == len(s) || s[end]-'0' > 9) {
			t.Fatalf("%q: an integer was not taken", s)
		}
		if m, decimals, e, ok := ScanDecimal(s, 0); ok {
			x, err := strconv.ParseFloat(s[:e], 64)
			if e != end || err != nil || x != Quotient(m, decimals) {
				t.Fatalf("%q: %v up to %d; want %v, %v, up to %d", s, Quotient(m, decimals), e, x, err, end)
			}
		}
	})
}

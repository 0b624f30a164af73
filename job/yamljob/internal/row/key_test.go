package row

import (
	"math"
	"strings"
	"testing"
)

// The encoding is the format: it is part of the state and of what a sink writes.
func TestKeyEncodingIsFrozen(t *testing.T) {
	at := Timestamp(1357034400250)
	for _, c := range []struct {
		values []Value
		want   string
	}{
		{[]Value{String("u1")}, `u1`},
		{[]Value{String("")}, ``},
		{[]Value{String(`a"b`)}, `a"b`},
		{[]Value{String("[null]")}, `["[null]"]`},
		{[]Value{String("a\xff")}, "a\xff"},
		{[]Value{String("[\xff")}, "[\"[\xff\"]"},
		{[]Value{Null}, `[null]`},
		{[]Value{Int(-17)}, `-17`},
		{[]Value{Float(math.Copysign(0, -1))}, `-0`},
		{[]Value{Float(2.5)}, `2.5`},
		{[]Value{Float(1e21)}, `1e+21`},
		{[]Value{Bool(true)}, `true`},
		{[]Value{at}, `2013-01-01T10:00:00.250Z`},
		{[]Value{String("AA"), Int(17), Null}, `["AA",17,null]`},
		{[]Value{String("a,\"\\\n\x01é"), Bool(false), at}, `["a,\"\\\n\u0001é",false,"2013-01-01T10:00:00.250Z"]`},
		{[]Value{String("\b"), String("\f")}, `["\u0008","\u000c"]`},
		{[]Value{String(""), String("")}, `["",""]`},
	} {
		got := AppendKey(nil, c.values...)
		if string(got) != c.want {
			t.Errorf("%v is encoded as %s, want %s", c.values, got, c.want)
		}
		kinds, back := make([]Kind, len(c.values)), make([]Value, len(c.values))
		for i, v := range c.values {
			if kinds[i] = v.Kind(); v.IsNull() {
				kinds[i] = KindString
			}
		}
		if err := DecodeKey(string(got), kinds, back); err != nil {
			t.Errorf("%s: %v", got, err)
		}
		for i := range back {
			if !back[i].Equal(c.values[i]) {
				t.Errorf("%s came back as %v", got, back)
			}
		}
	}
}

func TestKeyOfNoNumberIsThatOfNull(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(AppendKey(nil, Float(f))); got != "[null]" {
			t.Errorf("%v is encoded as %s", f, got)
		}
		if got := string(AppendKey(nil, Float(f), Int(1))); got != "[null,1]" {
			t.Errorf("%v and 1 are encoded as %s", f, got)
		}
	}
}

func TestKeyIsRefusedAsOtherKinds(t *testing.T) {
	for _, key := range []string{`x`, `["x"]`, `[1`, `[1,2]`, `[]`, `[1]x`, `[`} {
		if err := DecodeKey(key, []Kind{KindInt}, make([]Value, 1)); err == nil && key != `[1]` {
			t.Errorf("%s was taken for one int", key)
		}
	}
}

func FuzzKeysOfStringsAreUnambiguous(f *testing.F) {
	f.Add("a", "b")
	f.Add("[", "\"")
	f.Add("\xff", "\\\x00")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, values := range [][]Value{{String(a)}, {String(a), String(b)}, {String(a), Null, String(b)}} {
			key := string(AppendKey(nil, values...))
			back := make([]Value, len(values))
			kinds := []Kind{KindString, KindString, KindString}[:len(values)]
			if err := DecodeKey(key, kinds, back); err != nil || !equal(back, values) {
				t.Fatalf("%v became %q (%v)", values, key, err)
			}
		}
		if plain, ok := PlainKey(String(a)); ok && plain != string(AppendKey(nil, String(a))) || !ok && !strings.HasPrefix(a, "[") {
			t.Fatalf("PlainKey(%q) = %q, %v", a, plain, ok)
		}
	})
}

func equal(a, b []Value) bool {
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

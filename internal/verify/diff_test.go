package verify

import (
	"fmt"
	"strings"
	"testing"
)

// marksOf makes a mark of each letter; a digit behind it is its timestamp.
func marksOf(s string) (out []mark) {
	for _, w := range strings.Fields(s) {
		m := mark{value: uint64(w[0])}
		if len(w) > 1 {
			m.timestamp = int64(w[1] - '0')
		}
		out = append(out, m)
	}
	return out
}

func script(edits []edit) string {
	names := map[verdict]string{different: "different", missing: "lost", doubled: "doubled", madeUp: "made up", outOfOrder: "out of order"}
	var out []string
	for _, e := range edits {
		if e.what != equal {
			out = append(out, fmt.Sprintf("%s %d/%d", names[e.what], e.want, e.got))
		}
	}
	return strings.Join(out, ", ")
}

func TestSequencesAreAligned(t *testing.T) {
	for _, c := range []struct{ want, got, script string }{
		{"", "", ""},
		{"a b c", "a b c", ""},
		{"a b c", "a c", "lost 1/-1"},
		{"a b c", "b c", "lost 0/-1"},
		{"a b c", "a b", "lost 2/-1"},
		{"a b c", "", "lost 0/-1, lost 1/-1, lost 2/-1"},
		{"a b c", "a b b c", "doubled -1/2"},
		{"a b c", "a b c a b c", "doubled -1/3, doubled -1/4, doubled -1/5"},
		{"a b c d e", "a b c b c d e", "doubled -1/3, doubled -1/4"},
		{"a b c d e", "a x b c d e", "made up -1/1"},
		{"a b c", "a x c", "different 1/1"},
		{"a b c", "a b c x", "made up -1/3"},
		{"a b c", "x", "different 0/0, lost 1/-1, lost 2/-1"},
		{"a b c", "b a c", "out of order 1/0"},
		{"a b c d", "a c d b", "out of order 1/3"},
		{"a a a", "a a", "lost 2/-1"},
		{"a a", "a a a", "doubled -1/2"},
		{"a b a b a b", "a b a b", "lost 4/-1, lost 5/-1"},
		{"a1 b2", "a1 b3", "different 1/1"},
	} {
		if got := script(align(marksOf(c.want), marksOf(c.got))); got != c.script {
			t.Errorf("want %q, got %q: %s instead of %s", c.want, c.got, got, c.script)
		}
	}
}

func TestBagsArePaired(t *testing.T) {
	for _, c := range []struct{ want, got, script string }{
		{"a b c", "c b a", ""},
		{"a a b", "b a", "lost 1/-1"},
		{"a b", "b a b", "doubled -1/2"},
		{"a b", "b x5 a", "made up -1/1"},
		{"a1 b2", "x2 a1", "different 1/0"},
		{"a1 b2", "a1", "lost 1/-1"},
		{"", "a a", "made up -1/0, made up -1/1"},
	} {
		if got := script(pair(marksOf(c.want), marksOf(c.got))); got != c.script {
			t.Errorf("want %q, got %q: %s instead of %s", c.want, c.got, got, c.script)
		}
	}
}

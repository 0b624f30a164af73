package kafka

import (
	"strings"
	"testing"
)

func TestNamesThatNoTopicCanHave(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "a b", "a/b", "ä", "a:1", strings.Repeat("x", 250)} {
		if CheckName(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"a", "a.b_c-D9", "...", strings.Repeat("x", 249)} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
}

package text

import "testing"

func TestNearestWordIsSuggested(t *testing.T) {
	words := []string{"filter", "map", "key_by", "aggregate", "window"}
	for got, want := range map[string]string{
		"filtre": ` (did you mean "filter"?)`,
		"Filter": ` (did you mean "filter"?)`,
		"keyby":  ` (did you mean "key_by"?)`,
		"mop":    ` (did you mean "map"?)`,
		"sink":   "",
		"mpa":    ` (did you mean "map"?)`,
		"x":      "",
		"":       "",
	} {
		if s := Suggest(got, words); s != want {
			t.Errorf("Suggest(%q) = %q, want %q", got, s, want)
		}
	}
}

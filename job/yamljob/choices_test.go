package yamljob

import (
	"slices"
	"strings"
	"testing"
)

// The values that a mistake names for a value of the wrong kind are those that a wrong text is compared with.
func TestChoicesAreThoseThatAreChecked(t *testing.T) {
	const file = `
job: x
kafka: {brokers: [a]}
source:
  in: {topics: [a], format: raw}
sink:
  out: {topic: b}
`
	for key, want := range choices {
		paths := []string{key, "source.in." + key, "sink.out." + key}
		found := false
		for _, path := range paths {
			_, err := Parse("x.yaml", []byte(file), LoadOptions{Set: []string{path + "=nonsense"}, Env: env(empty)})
			if err == nil {
				t.Errorf("%s: nonsense is taken", path)
				continue
			}
			for line := range strings.Lines(err.Error()) {
				_, list, _ := strings.Cut(line, `"nonsense" `)
				found = found || !slices.ContainsFunc(strings.Split(want, ", "), func(w string) bool { return !strings.Contains(list, w) })
			}
		}
		if !found {
			t.Errorf("%s: no mistake names %s", key, want)
		}
	}
}

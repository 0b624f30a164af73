// Package text reads the small things that several parts of a YAML job have in common: words that are nearly right, and
// durations.
package text

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Suggest returns ` (did you mean "filter"?)` for the word that is nearest to got, or nothing if none is near.
func Suggest(got string, words []string) string {
	if best := Nearest(got, words); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// Nearest returns the word that is nearest to got, or nothing if none is near.
func Nearest(got string, words []string) string {
	length := len([]rune(got))
	best, least := "", max(1, length/3)
	if length < 2 {
		least = 0
	}
	for _, w := range words {
		if d := distance(strings.ToLower(got), strings.ToLower(w)); d <= least && w != got {
			if best == "" || d < least {
				best = w
			}
			least = d
		}
	}
	return best
}

// distance counts two letters in the wrong order as one mistake.
func distance(a, b string) int {
	d := levenshtein.ComputeDistance(a, b)
	if d == 2 && len(a) == len(b) {
		for i := range len(a) - 1 {
			if a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b {
				return 1
			}
		}
	}
	return d
}

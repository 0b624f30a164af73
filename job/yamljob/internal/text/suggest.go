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
	best, least := "", max(1, len([]rune(got))/3)
	for _, w := range words {
		if d := levenshtein.ComputeDistance(strings.ToLower(got), strings.ToLower(w)); d <= least && w != got {
			if best == "" || d < least {
				best = w
			}
			least = d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

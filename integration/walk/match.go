package walk

import (
	"fmt"
	"regexp"
	"strings"
)

// varying is what differs from run to run, and what stands for it, in the order in which they are replaced.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "ID"},
	{regexp.MustCompile(`\bID-\d+\b`), "ID-N"}, // a savepoint's
	{regexp.MustCompile(`\b(checkpoint[ =]|checkpoint:)\d+\b`), "${1}N"},
	{regexp.MustCompile(`(^|\s)\d+ TIME\b`), "${1}N TIME"}, // a column of checkpoints
	{regexp.MustCompile(`\b\d+(\.\d+)? ([KMG]i)?B\b`), "SIZE"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(µs|ms|s|min|h)( old)?\b`), "DURATION"},
}

var spaces = regexp.MustCompile(`\s+`)

// normal are the lines of an output that are not empty, with what varies replaced.
func normal(output string) []string {
	var lines []string
	for _, line := range strings.Split(output, "\n") {
		line = strings.TrimSpace(spaces.ReplaceAllString(line, " "))
		if line == "" {
			continue
		}
		for _, v := range varying {
			line = v.pattern.ReplaceAllString(line, v.by)
		}
		lines = append(lines, line)
	}
	return lines
}

// Match compares what was printed with what a document shows of it. The error names the first line that has no counterpart.
func Match(shown, printed string) error {
	m := matcher{shown: normal(shown), printed: normal(printed)}
	if m.from(0, 0) {
		return nil
	}
	if m.reached == len(m.shown) {
		return fmt.Errorf("more was printed than is shown: %s", m.printed[m.at])
	}
	return fmt.Errorf("shown, and not printed there: %s", m.shown[m.reached])
}

type matcher struct {
	shown, printed []string
	reached        int // how far in shown the best try came
	at             int // and where in printed
}

func (m *matcher) from(i, j int) bool {
	if i >= m.reached {
		m.reached, m.at = i, j
	}
	switch {
	case i == len(m.shown):
		return j == len(m.printed)
	case m.shown[i] == "...":
		for ; j <= len(m.printed); j++ {
			if m.from(i+1, j) {
				return true
			}
		}
		return false
	default:
		return j < len(m.printed) && lineMatches(m.shown[i], m.printed[j]) && m.from(i+1, j+1)
	}
}

func lineMatches(shown, printed string) bool {
	parts := strings.Split(shown, "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	matched, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", printed)
	return err == nil && matched
}

//go:build integration

package integration

import (
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/integration/harness"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// oneLine checks that the process told in one line of its standard error, besides its log, what was wrong: the last line,
// which begins with the program's name and contains all that is wanted.
func oneLine(t *testing.T, p *harness.Process, wanted ...string) {
	t.Helper()
	var told []string
	for _, line := range strings.Split(strings.TrimSpace(p.Stderr()), "\n") {
		if strings.HasPrefix(line, "processor: ") {
			told = append(told, line)
		}
	}
	if len(told) != 1 {
		t.Errorf("%d lines say what is wrong, want one:\n%s", len(told), p.Stderr())
		return
	}
	for _, want := range wanted {
		if !strings.Contains(told[0], want) {
			t.Errorf("no %q in the message:\n%s", want, told[0])
		}
	}
}

// linesWith returns the lines of a text that contain a word.
func linesWith(text, word string) string {
	var found []string
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}

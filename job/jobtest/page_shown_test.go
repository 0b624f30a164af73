package jobtest_test

import (
	"os"
	"strings"
	"testing"
)

// What docs/testing.md shows is this file.
func TestThePageShowsWhatRuns(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, ok := strings.Cut(code, "```")
	if _, rest, _ := strings.Cut(string(here), "\n\n"); !ok || !strings.HasPrefix(rest, code) {
		t.Errorf("the page has other code than page_test.go:\n%s", code)
	}
}

package expression

import (
	"os"
	"strings"
	"testing"
)

func TestEveryFunctionIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/formats/job-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	names := append(FunctionNames(), AggregateNames...)
	for _, name := range append(names, "coalesce") {
		if !strings.Contains(string(page), "`"+name+"(") {
			t.Errorf("docs/formats/job-yaml.md does not describe %s", name)
		}
	}
}

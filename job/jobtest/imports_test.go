package jobtest_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/job/jobtest"
)

// What a job is made of has no Kafka in it, and no test kit.
func TestJobsDoNotImportTheKit(t *testing.T) {
	for _, dir := range []string{"..", "../yamljob", "../../internal/runtime", "../../source", "../../sink"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range f.Imports {
				if strings.Contains(i.Path.Value, "kfake") || strings.Contains(i.Path.Value, "jobtest") {
					t.Errorf("%s imports %s", name, i.Path.Value)
				}
			}
		}
	}
}

// The page that users read has every step.
func TestThePageHasEveryStep(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	if missing := slices.DeleteFunc(jobtest.Steps(), func(s jobtest.Step) bool {
		return strings.Contains(string(page), "`"+string(s)+"`")
	}); len(missing) > 0 {
		t.Errorf("docs/testing.md does not have %v", missing)
	}
}

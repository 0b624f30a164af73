// Package docs has no code: its test holds the documents to the repository that they speak of.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirstream/weir/job/yamljob"
)

const root = ".."

// pages are the documents, by path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	read := func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(filepath.ToSlash(path), root+"/")] = string(b)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "integration/README.md"} {
		read(filepath.Join(root, name))
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			read(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var (
	link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)
	// code is fenced code and code in a line: job.JSON[View](g) is no link.
	code = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`|(?m)^    .*$")
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
			}
		}
	}
}

var (
	named   = regexp.MustCompile(`\b(Test|Example)[A-Z]\w+`)
	defined = regexp.MustCompile(`(?m)^func ((Test|Example|Fuzz)\w+)\(`)
	// asPattern are names that stand for several tests: make integration RUN=TestKilled.
	asPattern = regexp.MustCompile(`(RUN=|-run '\^?)(Test\w+)`)
)

// A page that names a test promises that it is there: docs/guarantees.md is made of such promises.
func TestEveryTestThatAPageNamesExists(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range defined.FindAllStringSubmatch(string(b), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for page, text := range pages(t) {
		for _, name := range named.FindAllString(asPattern.ReplaceAllString(text, ""), -1) {
			if !tests[name] {
				t.Errorf("%s: there is no test %s", page, name)
			}
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func TestTheJobInTheReadmeIsValid(t *testing.T) {
	blocks := yamlBlock.FindAllStringSubmatch(pages(t)["README.md"], -1)
	if len(blocks) == 0 {
		t.Fatal("README.md has no job in YAML")
	}
	for _, b := range blocks {
		l, err := yamljob.Parse("README.md", []byte(b[1]), yamljob.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Graph.Prepare(l.Options); err != nil {
			t.Error(err)
		}
	}
}

// What go-jobs.md shows first is what operators/dedup_example_test.go runs.
func TestThePageOfGoJobsShowsWhatRuns(t *testing.T) {
	runs, err := os.ReadFile(filepath.Join(root, "operators/dedup_example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(pages(t)["docs/go-jobs.md"], "```go\n")
	code, _, ok := strings.Cut(code, "```")
	if !ok || !strings.Contains(string(runs), code) {
		t.Errorf("the page has other code than the example:\n%s", code)
	}
}

package yamljob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

var empty = map[string]string{}

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestEveryExampleLoads(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, f := range files {
		l, err := Load(f, LoadOptions{Env: env(empty)})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if _, err := l.Graph.Prepare(l.Options); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		transcript := filepath.Join("testdata/run", strings.TrimSuffix(filepath.Base(f), ".yaml"))
		if _, err := os.Stat(transcript); err != nil {
			t.Errorf("%s is not run by TestJobs: %v", f, err)
		}
	}
}

// Transcripts: "load" loads the file that follows, as views.yaml, with the given set= and env=; it answers with ok or
// with every mistake.
func TestMistakesAreReportedTogether(t *testing.T) {
	datadriven.Walk(t, "testdata/errors", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			opts, vars := LoadOptions{}, map[string]string{}
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "set":
					opts.Set = append(opts.Set, strings.Join(arg.Vals, ","))
				case "env":
					name, value, _ := strings.Cut(strings.Join(arg.Vals, ","), ":")
					vars[name] = value
				}
			}
			opts.Env = env(vars)
			_, err := Parse("views.yaml", []byte(d.Input+"\n"), opts)
			if err != nil {
				return err.Error() + "\n"
			}
			return "ok\n"
		})
	})
}

func TestFileThatIsNotThereIsNamed(t *testing.T) {
	_, err := Load("nowhere.yaml", LoadOptions{})
	if !os.IsNotExist(err) || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("got %v", err)
	}
}

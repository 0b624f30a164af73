package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestCommands runs the transcripts in testdata/commands. "file name=x.yaml" makes a file; "exec" runs a command line and
// shows what it prints, standard error after "stderr:", and its exit code unless that is 0.
func TestCommands(t *testing.T) {
	datadriven.Walk(t, "testdata/commands", func(t *testing.T, path string) {
		t.Chdir(testdataCopy(t))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				var name string
				d.ScanArgs(t, "name", &name)
				if err := os.WriteFile(name, []byte(d.Input+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return ""
			case "exec":
				code, stdout, stderr := call(strings.Fields(d.Input)...)
				if stderr != "" {
					stdout += "stderr:\n" + stderr
				}
				if code != 0 {
					stdout += fmt.Sprintf("exit code %d\n", code)
				}
				return stdout
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// testdataCopy is an empty folder to work in, below which the transcripts are found by the paths that they have here.
func testdataCopy(t *testing.T) string {
	t.Helper()
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(here, filepath.Join(dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	return dir
}

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/job/cli/internal/demo"
)

func TestDemoLosesAndDoublesNothing(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out output
	err = demo.Run(t.Context(), demo.Options{
		Events: 5000, Over: 1500 * time.Millisecond, Kills: 3, Seed: 1, Program: program, Env: []string{asProcessor + "=1"},
		Command: "processor", Out: &out,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`5,000 results after 3 kills, .*: lost 0, doubled 0, out of order 0, wrong sums 0\.`,
		`killed; results again after \d+ ms`,
		`processor demo --keep`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("control characters although there is no terminal")
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "weir-demo-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/fault"
)

// Every constant is in the list that tests walk, once, and the engine has a place for each.
func TestEveryStepIsListedAndTaken(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]fault.Step{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			constants[v.Names[0].Name] = fault.Step(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
		}
	}
	listed := fault.Steps()
	if len(listed) != len(constants) {
		t.Errorf("%d steps are listed, and %d are declared", len(listed), len(constants))
	}
	used := engine(t)
	for name, step := range constants {
		if !slices.Contains(listed, step) {
			t.Errorf("%s is not in the list", name)
		}
		if !strings.Contains(used, "At(fault."+name+")") {
			t.Errorf("no code of the engine takes the step %s", name)
		}
	}
}

// engine is the source of everything that may take a step.
func engine(t *testing.T) string {
	var all strings.Builder
	for _, dir := range []string{"../runtime", "../../checkpoint", "../../sink", "../../pebblestate"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What JSON says of something by a value out of a list is a short word: programs compare it, and people are shown a sentence.
// This looks at the constants of every string type that a field with a name in JSON has.
func TestValuesOutOfAListAreWordsInJSON(t *testing.T) {
	words := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	constants := map[string][]string{} // by type
	shown := map[string]bool{}
	for _, dir := range []string{
		".", "../../checkpoint", "../../internal/runtime", "../../internal/savepoint", "../../internal/verify", "../../internal/offsets",
		"../../internal/doctor", "../../internal/doctor/txn", "../../internal/doctor/probe", "../../internal/web",
	} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !isSource(f) {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f.Name()), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Field:
					if n.Tag != nil && strings.Contains(n.Tag.Value, `json:"`) {
						shown[typeName(n.Type)] = true
					}
				case *ast.ValueSpec:
					for _, v := range n.Values {
						if s, ok := v.(*ast.BasicLit); ok && s.Kind == token.STRING && n.Type != nil {
							text, _ := strconv.Unquote(s.Value)
							constants[typeName(n.Type)] = append(constants[typeName(n.Type)], text)
						}
					}
				}
				return true
			})
		}
	}
	looked := 0
	for typ, values := range constants {
		if !shown[typ] || typ == "string" {
			continue
		}
		for _, v := range values {
			looked++
			if !words.MatchString(v) {
				t.Errorf("%s %q is no word", typ, v)
			}
		}
	}
	if looked < 30 {
		t.Errorf("only %d values were looked at", looked)
	}
}

func isSource(f fs.DirEntry) bool {
	return strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go")
}

// typeName is the name of a type, without its package and what stands around it.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return typeName(e.Elt)
	case *ast.MapType:
		return typeName(e.Key)
	}
	return ""
}

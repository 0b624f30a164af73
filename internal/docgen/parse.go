package docgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

const module = "github.com/weirstream/weir/"

// structType is a type declaration and where it stands.
type structType struct {
	pkg  string // the folder of its package
	spec *ast.TypeSpec
	file *ast.File
}

// packages are the declarations of the packages that have been looked at, by "folder.Type".
type packages struct {
	root    string
	structs map[string]*structType
	loaded  map[string]bool
	// written has the path under which a struct has its section.
	written map[string]string
}

// field is one setting.
type field struct {
	yaml, doc string
	// kind is what a value looks like; empty for a block, whose struct is pkg and typ.
	kind     string
	pkg, typ string
}

func (f *field) isBlock() bool { return f.kind == "" }

func (p *packages) load(pkg string) error {
	if p.loaded[pkg] {
		return nil
	}
	p.loaded[pkg] = true
	dir := filepath.Join(p.root, filepath.FromSlash(pkg))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, s := range g.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						p.structs[pkg+"."+t.Name.Name] = &structType{pkg, t, file}
					}
				}
			}
		}
	}
	return nil
}

// find returns a declaration, behind its aliases.
func (p *packages) find(pkg, name string) (*structType, error) {
	if err := p.load(pkg); err != nil {
		return nil, err
	}
	t := p.structs[pkg+"."+name]
	if t == nil {
		return nil, fmt.Errorf("%s: no type %s", pkg, name)
	}
	if t.spec.Assign.IsValid() {
		return p.named(t, t.spec.Type)
	}
	return t, nil
}

// named resolves a type expression that names a type of ours; nil if it names another.
func (p *packages) named(at *structType, e ast.Expr) (*structType, error) {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Obj == nil && ast.IsExported(e.Name) || e.Obj != nil {
			return p.find(at.pkg, e.Name)
		}
	case *ast.SelectorExpr:
		name := e.X.(*ast.Ident).Name
		for _, imp := range at.file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return nil, err
			}
			if ours, ok := strings.CutPrefix(path, module); ok && filepath.Base(path) == name {
				return p.find(ours, e.Sel.Name)
			}
		}
	}
	return nil, nil
}

// fields lists the settings of a struct, those of inlined structs among them.
func (p *packages) fields(pkg, name string) ([]field, error) {
	t, err := p.find(pkg, name)
	if err != nil {
		return nil, err
	}
	s, ok := t.spec.Type.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s.%s is not a struct", pkg, name)
	}
	settings := map[string]string{} // by field name
	for _, f := range s.Fields.List {
		if yaml, _ := yamlTag(f); len(f.Names) > 0 && yaml != "" && yaml != "-" {
			settings[f.Names[0].Name] = yaml
		}
	}
	var out []field
	for _, f := range s.Fields.List {
		switch yaml, options := yamlTag(f); {
		case options == "inline":
			inner, err := p.named(t, f.Type)
			if err != nil || inner == nil {
				return nil, fmt.Errorf("%s.%s: inlined: %w", pkg, name, err)
			}
			more, err := p.fields(inner.pkg, inner.spec.Name.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		case yaml != "" && yaml != "-":
			setting, err := p.field(t, f, yaml, settings)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", pkg, name, err)
			}
			out = append(out, setting)
		}
	}
	return out, nil
}

// yamlTag is a field's name in YAML, and what follows it in the tag.
func yamlTag(f *ast.Field) (name, options string) {
	if f.Tag == nil {
		return "", ""
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return "", ""
	}
	name, options, _ = strings.Cut(reflect.StructTag(text).Get("yaml"), ",")
	return name, options
}

func (p *packages) field(t *structType, f *ast.Field, yaml string, others map[string]string) (field, error) {
	name := f.Names[0].Name
	doc := strings.Join(strings.Fields(f.Doc.Text()), " ")
	if doc == "" {
		return field{}, fmt.Errorf("%s has no doc comment", name)
	}
	out := field{yaml: yaml, doc: inWords(doc, name, yaml, others)}
	typ := f.Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	inner, err := p.named(t, typ)
	if err != nil {
		return field{}, err
	}
	if inner != nil {
		if _, ok := inner.spec.Type.(*ast.StructType); ok && inner.spec.Name.Name != "Node" {
			out.pkg, out.typ = inner.pkg, inner.spec.Name.Name
			return out, nil
		}
	}
	out.kind = kind(typ, inner)
	return out, nil
}

// kind is what a value looks like.
func kind(typ ast.Expr, inner *structType) string {
	if inner != nil {
		switch inner.spec.Name.Name {
		case "Bytes":
			return "size"
		case "Secret":
			return "secret"
		case "Node":
			return "expression or mapping"
		}
		return kind(inner.spec.Type, nil)
	}
	switch typ := typ.(type) {
	case *ast.Ident:
		switch typ.Name {
		case "string":
			return "text"
		case "bool":
			return "true or false"
		}
		return "number"
	case *ast.SelectorExpr:
		switch typ.Sel.Name {
		case "Duration":
			return "duration"
		case "Time":
			return "time"
		}
	case *ast.ArrayType:
		return "list"
	case *ast.MapType:
		return "mapping"
	}
	return "value"
}

// inWords makes a doc comment into a page's text. It names settings as the file does, and leaves out "X is", which the
// table says already.
func inWords(doc, name, yaml string, others map[string]string) string {
	for other, setting := range others {
		if strings.ToUpper(other) == other {
			continue // TLS is also a word
		}
		// Inside a sentence only: at its beginning an ordinary word may look like a field.
		doc = regexp.MustCompile(`([a-z,] )`+other+`\b`).ReplaceAllString(doc, "$1`"+setting+"`")
	}
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(doc, name+verb); ok {
			return rest
		}
	}
	if rest, ok := strings.CutPrefix(doc, name+" and "); ok {
		return "`" + yaml + "` and " + rest
	}
	if rest, ok := strings.CutPrefix(doc, name+" "); ok {
		return rest
	}
	return doc
}

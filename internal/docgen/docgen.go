// Package docgen writes docs/configuration.md from the option structs: their yaml tags are the settings, their doc comments
// say what they mean. Its test fails if the page is not what it would write; go test ./internal/docgen -update writes it.
//
// The invariant: nothing on the page is written twice. A setting without a doc comment is an error.
package docgen

import (
	"fmt"
	"strings"
)

// part is a section of the page: a struct, and where its settings are in a job's file.
type part struct {
	title, path, intro string
	pkg, name          string // of the struct
}

// parts are the page, in order. Structs that are fields of these become sections of their own below them.
var parts = []part{
	{title: "The job", pkg: "job", name: "Options",
		intro: "At the top of the file stands the job's name, `job: NAME`, which is part of its transactional IDs and topics: letters, digits, `.`, `_` and `-`."},
	{title: "Sources", path: "source.NAME", pkg: "job/yamljob", name: "SourceOptions",
		intro: "`source` holds one block for each source. Its key is the name of the step, which is the identity of its offsets in checkpoints."},
	{title: "Operators", path: "operators.NAME", pkg: "job/yamljob", name: "OperatorOptions",
		intro: "`operators` is a list of blocks; NAME is what a block says in `name`. [formats/job-yaml.md](formats/job-yaml.md) has the expressions and the rules."},
	{title: "Sinks", path: "sink.NAME", pkg: "job/yamljob", name: "SinkOptions",
		intro: "`sink` holds one block for each sink. All sinks write to the cluster of the job."},
}

const header = `# Configuration

<!-- Written by go test ./internal/docgen -update from the option structs: change their comments, not this page. -->

Every setting of a job's file, by its path. ` + "`--set PATH=VALUE`" + ` changes one for a start; ` + "`${NAME}`" + ` and ` + "`${NAME:-default}`" + `
in a value stand for an environment variable. A Go program sets the fields of the same structs (` + "`job.Options`" + `,
` + "`source.KafkaOptions`" + `, ...). What is not set has its default; zero means default too. Durations are written 200ms, 5s, 1h30m;
sizes 512MiB or 20KiB.
`

// Generate returns the page. root is the module's folder.
func Generate(root string) (string, error) {
	pkgs := &packages{root: root, structs: map[string]*structType{}, loaded: map[string]bool{}, written: map[string]string{}}
	var page strings.Builder
	page.WriteString(header)
	for _, p := range parts {
		fmt.Fprintf(&page, "\n## %s\n", p.title)
		if p.intro != "" {
			fmt.Fprintf(&page, "\n%s\n", p.intro)
		}
		if err := pkgs.section(&page, p.path, p.pkg, p.name, ""); err != nil {
			return "", err
		}
	}
	return page.String(), nil
}

// section writes the table of one struct, then those of the structs in it.
func (p *packages) section(page *strings.Builder, path, pkg, name, doc string) error {
	fields, err := p.fields(pkg, name)
	if err != nil {
		return err
	}
	if doc != "" {
		fmt.Fprintf(page, "\n### %s\n\n%s\n", path, sentence(doc))
	}
	if at, ok := p.written[pkg+"."+name]; ok {
		fmt.Fprintf(page, "Its settings are those of [%s](#%s).\n", at, strings.ReplaceAll(at, ".", ""))
		return nil
	}
	p.written[pkg+"."+name] = path
	var plain, blocks []field
	for _, f := range fields {
		if f.isBlock() {
			blocks = append(blocks, f)
		} else {
			plain = append(plain, f)
		}
	}
	if len(plain) > 0 {
		page.WriteString("\n| setting | value | meaning |\n|---|---|---|\n")
		for _, f := range plain {
			fmt.Fprintf(page, "| `%s` | %s | %s |\n", join(path, f.yaml), f.kind, cell(f.doc))
		}
	}
	for _, f := range blocks {
		if err := p.section(page, join(path, f.yaml), f.pkg, f.typ, f.doc); err != nil {
			return err
		}
	}
	return nil
}

// sentence begins with a capital letter, but for a first word that is a value of a file and means something as it is
// written. In tables nothing is changed: there a first word may be any value.
func sentence(s string) string {
	if word, _, _ := strings.Cut(s, " "); s == "" || strings.ContainsAny(word, "_-`") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// cell escapes what would end a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

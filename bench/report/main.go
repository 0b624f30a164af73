// Command report makes the tables of docs/performance.md out of what bench/run.sh measured.
//
//	go run ./bench/report bench/results/20260102-150405                            prints them
//	go run ./bench/report -doc docs/performance.md bench/results/20260102-150405   puts them into the document
//
// The argument is the common beginning of the files -machine.txt, -cells.csv and -figures.csv; those that are not there
// are left out. In the document the tables replace what stands between the two marker lines.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const (
	begin = "<!-- bench/report: begin -->"
	end   = "<!-- bench/report: end -->"
)

func main() {
	doc := flag.String("doc", "", "document to put the tables into")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: report [-doc FILE] RESULTS")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *doc); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(results, doc string) error {
	text, err := report(results)
	if err != nil {
		return err
	}
	if doc == "" {
		fmt.Print(text)
		return nil
	}
	old, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	replaced, err := replace(string(old), text)
	if err != nil {
		return fmt.Errorf("%s: %w", doc, err)
	}
	return os.WriteFile(doc, []byte(replaced), 0o644)
}

// report reads the files of one run.
func report(results string) (string, error) {
	machine, err := optional(results + "-machine.txt")
	if err != nil {
		return "", err
	}
	cellsCSV, err := optional(results + "-cells.csv")
	if err != nil {
		return "", err
	}
	figuresCSV, err := optional(results + "-figures.csv")
	if err != nil {
		return "", err
	}
	if cellsCSV+figuresCSV == "" {
		return "", fmt.Errorf("neither %s-cells.csv nor %s-figures.csv has anything", results, results)
	}
	cells, err := parseCells(cellsCSV)
	if err != nil {
		return "", fmt.Errorf("%s-cells.csv: %w", results, err)
	}
	figures, err := parseFigures(figuresCSV)
	if err != nil {
		return "", fmt.Errorf("%s-figures.csv: %w", results, err)
	}
	var parts []string
	if machine != "" {
		parts = append(parts, "Measured on: "+strings.Join(strings.Split(strings.TrimSpace(machine), "\n"), "; ")+".\n")
	}
	for _, part := range []string{marksTable(cells), cellsTable(cells), figuresTable(figures)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n"), nil
}

// optional reads a file, empty if there is none.
func optional(name string) (string, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// replace puts text between the marker lines of a document.
func replace(doc, text string) (string, error) {
	before, rest, ok1 := strings.Cut(doc, begin+"\n")
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return "", fmt.Errorf("no lines %q and %q", begin, end)
	}
	return before + begin + "\n" + text + end + after, nil
}

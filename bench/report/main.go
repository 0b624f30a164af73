// Command report makes the tables and the chart of docs/performance.md out of what bench/run.sh measured.
//
//	go run ./bench/report bench/results/20260102-150405     prints the tables
//	go run ./bench/report -doc docs/performance.md -chart docs/performance.svg bench/results/20260102-150405
//
// The argument is the common beginning of the files -machine.txt, -cells.csv and -figures.csv; those that are not there
// are left out. Several arguments are taken as one measurement, with the machine of the last: what each of them measured of
// the same cell counts as further runs. In the document the tables replace what stands between the two marker lines.
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
	chart := flag.String("chart", "", "file to draw the throughput into, as SVG")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: report [-doc FILE] [-chart FILE] RESULTS...")
		os.Exit(2)
	}
	if err := run(flag.Args(), *doc, *chart); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(results []string, doc, chart string) error {
	r, err := read(results)
	if err != nil {
		return err
	}
	if chart != "" {
		if err := os.WriteFile(chart, []byte(drawChart(r.cells)), 0o644); err != nil {
			return err
		}
	}
	if doc == "" {
		fmt.Print(r.text())
		return nil
	}
	old, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	replaced, err := replace(string(old), r.text())
	if err != nil {
		return fmt.Errorf("%s: %w", doc, err)
	}
	return os.WriteFile(doc, []byte(replaced), 0o644)
}

// report is what the files of one or more runs hold.
type report struct {
	machine string
	cells   []*cell
	figures []*measured
}

func read(results []string) (*report, error) {
	r := &report{}
	var cells, figures string
	for _, prefix := range results {
		machine, err1 := optional(prefix + "-machine.txt")
		c, err2 := optional(prefix + "-cells.csv")
		f, err3 := optional(prefix + "-figures.csv")
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		if c+f == "" {
			return nil, fmt.Errorf("neither %s-cells.csv nor %s-figures.csv has anything", prefix, prefix)
		}
		if machine != "" {
			r.machine = machine
		}
		cells += c
		figures += f
	}
	var err error
	if r.cells, err = parseCells(cells); err != nil {
		return nil, fmt.Errorf("%s-cells.csv: %w", strings.Join(results, ", "), err)
	}
	if r.figures, err = parseFigures(figures); err != nil {
		return nil, fmt.Errorf("%s-figures.csv: %w", strings.Join(results, ", "), err)
	}
	return r, nil
}

// text is everything between the markers of the document.
func (r *report) text() string {
	var parts []string
	if r.machine != "" {
		parts = append(parts, "Measured on: "+strings.Join(strings.Split(strings.TrimSpace(r.machine), "\n"), "; ")+".\n")
	}
	for _, part := range []string{marksTable(r.cells), cellsTable(r.cells), latencyTable(r.figures), figuresTable(r.figures)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n")
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

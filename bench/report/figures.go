package main

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// measured is one line of what bench/figures wrote.
type measured struct {
	figure, program, unit string
	samples               int
	p50, p99, max         float64
}

func parseFigures(text string) ([]measured, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	var all []measured
	for i, row := range rows {
		if len(row) != 7 {
			return nil, fmt.Errorf("line %d: %d columns: want 7", i+1, len(row))
		}
		m := measured{figure: row[0], program: row[1], unit: row[2]}
		if m.samples, err = strconv.Atoi(row[3]); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		for j, into := range []*float64{&m.p50, &m.p99, &m.max} {
			if *into, err = strconv.ParseFloat(row[4+j], 64); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// bounds says what each figure is and what it must stay under.
var bounds = map[string]struct {
	text  string
	value func(measured) float64
	of    string
	limit float64
}{
	"pause":         {"Barrier pause, W3 with 1 M keys", func(m measured) float64 { return m.p99 }, "p99", 1},
	"pause-changes": {"Changes that such a barrier froze", func(m measured) float64 { return m.p50 }, "", 0},
	"recovery":      {"`kill -9` of W3 with 200,000 keys at 200 ms, to the first newly committed record", func(m measured) float64 { return m.max }, "max", 1000},
	"start-new":     {"Start of a new idle job to ready", func(m measured) float64 { return m.max }, "max", 500},
	"start-again":   {"Start of an idle job that goes on, to ready", func(m measured) float64 { return m.max }, "max", 500},
	"memory":        {"Resident memory of an idle job", func(m measured) float64 { return m.max }, "max", 60},
	"allocs":        {"Allocations of the whole process for a record of W3", func(m measured) float64 { return m.max }, "max", 2},
}

func figuresTable(all []measured) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| figure | program | unit | samples | p50 | p99 | max | at most | holds |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range all {
		bound, known := bounds[m.figure]
		text, most, holds := m.figure, "", ""
		if known {
			text = bound.text
		}
		if bound.limit > 0 {
			v := bound.value(m)
			most, holds = fmt.Sprintf("%s %g", bound.of, bound.limit), verdict(v, v <= bound.limit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s | %s | %s | %s |\n", text, name(labelNames, m.program), m.unit, m.samples,
			short(m.p50), short(m.p99), short(m.max), most, holds)
	}
	return b.String()
}

// short shows small values with more digits.
func short(v float64) string {
	switch {
	case v >= 100:
		return number(v, 0)
	case v >= 10:
		return number(v, 1)
	}
	return number(v, 3)
}

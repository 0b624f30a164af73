package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// measured is what bench/figures wrote of one figure and program, over all runs.
type measured struct {
	figure, program, unit string
	samples               int
	p50, p99, max         samples // one a run
}

func parseFigures(text string) ([]*measured, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	var all []*measured
	for i, row := range rows {
		if len(row) != 7 {
			return nil, fmt.Errorf("line %d: %d columns: want 7", i+1, len(row))
		}
		m := figureOf(all, row[0], row[1])
		if m == nil {
			m = &measured{figure: row[0], program: row[1], unit: row[2]}
			all = append(all, m)
		}
		n, err := strconv.Atoi(row[3])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		m.samples += n
		for j, into := range []*samples{&m.p50, &m.p99, &m.max} {
			v, err := strconv.ParseFloat(row[4+j], 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			*into = append(*into, v)
		}
	}
	return all, nil
}

func figureOf(all []*measured, figure, program string) *measured {
	for _, m := range all {
		if m.figure == figure && m.program == program {
			return m
		}
	}
	return nil
}

// bound says what a figure is and what of it must not be passed.
type bound struct {
	figure, text string
	// of is p50, p99, max (all at most) or least; empty if there is no mark.
	of    string
	limit float64
}

// bounds are in the order of the table.
var bounds = []bound{
	{"start-new", "Start of a new idle job to ready", "max", 150},
	{"start-again", "Start of an idle job that goes on, to ready", "max", 150},
	{"memory", "Resident memory of an idle job", "max", 40},
	{"binary", "Size of the binary", "max", 45},
	{"allocs", "Allocations of the whole process for a record of W3", "max", 1},
	{"bytes-uploaded", "Written to the storage by checkpoints of W3 with 1 M keys, to what changed", "max", 1.5},
	{"bytes-disk", "Written to disks in all meanwhile, the store and Pebble's own writing", "", 0},
	{"bytes-changed", "State that changed meanwhile", "", 0},
	{"bytes-bases", "Bases that were made meanwhile", "", 0},
	{"pause", "Barrier pause, W3 with 1 M keys", "p99", 1},
	{"pause-changes", "Changes that such a barrier froze", "", 0},
	{"pause-many", "Barrier pause, W3 with 20 M keys, most of them cold", "p99", 1},
	{"pause-changes-many", "Changes that such a barrier froze", "", 0},
	{"pause-many-live", "Barrier pause, W3 with 20 M keys, all in memory", "p99", 1},
	{"pause-changes-many-live", "Changes that such a barrier froze", "", 0},
	{"recovery", "`kill -9` of W3 with 200,000 keys at 50 ms, to the first newly committed record", "max", 300},
	{"recovery-fetch", "The same without local state", "", 0},
	{"recovery-many", "`kill -9` of W3 with 20 M keys at 50 ms, to the first newly committed record", "max", 3000},
	{"recovery-fetch-many", "The same without local state", "max", 10000},
	{"engine-1-core", "Engine alone on W3, one subtask, one core", "", 0},
	{"engine-1", "Engine alone on W3, one subtask, all cores", "", 0},
	{"engine-2", "Engine alone on W3, two subtasks, all cores", "", 0},
	{"engine-1-core-cpu", "CPU time of the first of these", "", 0},
	{"engine-1-cpu", "CPU time of the second", "", 0},
	{"engine-2-cpu", "CPU time of the third", "", 0},
	{"scaling", "Two subtasks to one, all cores", "least", 1.7},
	{"scaling-core", "Two subtasks on all cores to one on one core", "", 0},
}

// value is what the bound is about.
func (b *bound) value(m *measured) float64 {
	switch b.of {
	case "p50":
		return m.p50.median()
	case "p99":
		return m.p99.median()
	}
	return m.max.median()
}

// figuresTable shows all figures but latency; of several runs, the medians.
func figuresTable(all []*measured) string {
	var b strings.Builder
	row := func(f *bound, m *measured) {
		if b.Len() == 0 {
			b.WriteString("| figure | program | unit | samples | p50 | p99 | max | wanted | holds |\n|---|---|---|---|---|---|---|---|---|\n")
		}
		wanted, holds := "", ""
		switch v := f.value(m); f.of {
		case "":
		case "least":
			wanted, holds = fmt.Sprintf("at least %g", f.limit), verdict(v, v >= f.limit)
		default:
			wanted, holds = fmt.Sprintf("%s at most %g", f.of, f.limit), verdict(v, v <= f.limit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s | %s | %s | %s |\n", f.text, name(labelNames, m.program), m.unit, m.samples,
			short(m.p50.median()), short(m.p99.median()), short(m.max.median()), wanted, holds)
	}
	for i := range bounds {
		for _, m := range all {
			if m.figure == bounds[i].figure {
				row(&bounds[i], m)
			}
		}
	}
	for _, m := range all {
		known := slices.ContainsFunc(bounds, func(b bound) bool { return b.figure == m.figure })
		if !known && !strings.HasPrefix(m.figure, latencyPrefix) {
			row(&bound{figure: m.figure, text: m.figure}, m)
		}
	}
	return b.String()
}

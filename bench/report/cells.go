package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// cell is what one program did in one work, over all its runs.
type cell struct {
	label, work string
	// records is the size of the input; rate is in records/s.
	records float64
	rate    []float64
	// cpu and broker are CPU seconds for a million records; start is seconds to the first committed output, memory the peak
	// in MiB.
	cpu, broker, start, memory []float64
	right                      bool // every run's output was
}

// parseCells reads what the peers' watch wrote, one line a run (bench/peers/README.md).
func parseCells(text string) ([]*cell, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	var cells []*cell
	for i, row := range rows {
		if len(row) < 12 {
			return nil, fmt.Errorf("line %d: %d columns: want 12", i+1, len(row))
		}
		var n [8]float64
		for j, at := range []int{3, 4, 6, 7, 8, 9} {
			if n[j], err = strconv.ParseFloat(row[at], 64); err != nil {
				return nil, fmt.Errorf("line %d, column %d: %w", i+1, at+1, err)
			}
		}
		c := find(cells, row[0], row[1])
		if c == nil {
			c = &cell{label: row[0], work: row[1], right: true}
			cells = append(cells, c)
		}
		c.records = n[0]
		for j, into := range []*[]float64{&c.rate, &c.cpu, &c.broker, &c.start, &c.memory} {
			*into = append(*into, n[j+1])
		}
		c.right = c.right && strings.HasPrefix(row[11], "OK")
	}
	slices.SortStableFunc(cells, func(a, b *cell) int { return strings.Compare(a.work, b.work) })
	return cells, nil
}

func find(cells []*cell, label, work string) *cell {
	for _, c := range cells {
		if c.label == label && c.work == work {
			return c
		}
	}
	return nil
}

// mean of the runs; NaN if there is none, or the input was too small to measure one.
func mean(runs []float64) float64 {
	sum := 0.0
	for _, r := range runs {
		sum += r
	}
	return sum / float64(len(runs))
}

// mark is what the throughput of one program must be at least, as a multiple of another's.
type mark struct {
	work, label string
	factor      float64
	peer        string
}

var marks = []mark{
	{"w1", "weir", 0.85, "limit"},
	{"w2", "weir", 0.8, "limit-json"},
	{"w3", "weir", 4, "flink-rocksdb"},
	{"w3", "weir", 2, "flink-hashmap"},
	{"w3", "weir", 4, "kstreams"},
	{"w4", "weir", 6, "flink-rocksdb"},
	{"w4", "weir", 2, "flink-hashmap"},
	{"w4", "weir", 4, "kstreams-emit0"},
	{"w1", "weir-yaml", 0.5, "weir"},
	{"w2", "weir-yaml", 0.5, "weir"},
	{"w3", "weir-yaml", 0.5, "weir"},
	{"w4", "weir-yaml", 0.5, "weir"},
}

var workNames = map[string]string{"w1": "W1 pass-through", "w2": "W2 JSON filter and projection", "w3": "W3 running count and sum", "w4": "W4 one-minute windows"}

var labelNames = map[string]string{
	"weir": "Weir, Go", "weir-yaml": "Weir, YAML", "limit": "limit (bare franz-go)", "limit-json": "limit-json (bare franz-go)",
	"raw-lz4": "raw (batches in place, no checkpointed state)", "raw-snappy": "raw, snappy (batches in place, no checkpointed state)",
	"flink-rocksdb": "Flink RocksDB", "flink-hashmap": "Flink HashMap", "kstreams": "Kafka Streams", "kstreams-emit0": "Kafka Streams, emit interval 0",
}

func name(names map[string]string, key string) string {
	if n := names[key]; n != "" {
		return n
	}
	return key
}

// marksTable compares Weir with its peers; marks of which a side was not measured are left out.
func marksTable(cells []*cell) string {
	var b strings.Builder
	for _, m := range marks {
		own, peer := find(cells, m.label, m.work), find(cells, m.peer, m.work)
		if own == nil || peer == nil {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("| work | program | k records/s | compared with | k records/s | ratio | at least | holds |\n|---|---|---|---|---|---|---|---|\n")
		}
		ratio := mean(own.rate) / mean(peer.rate)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %g | %s |\n", name(workNames, m.work), name(labelNames, m.label), number(mean(own.rate)/1000, 0),
			name(labelNames, m.peer), number(mean(peer.rate)/1000, 0), number(ratio, 2), m.factor, verdict(ratio, ratio >= m.factor && own.right && peer.right))
	}
	return b.String()
}

// cellsTable lists everything that was measured; "/" separates runs.
func cellsTable(cells []*cell) string {
	if len(cells) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| work | program | records | k records/s | job CPU-s per M | broker CPU-s per M | start to first output, s | peak RSS, MiB | output |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range cells {
		output := "right"
		if !c.right {
			output = "**wrong**"
		}
		thousands := slices.Clone(c.rate)
		for i := range thousands {
			thousands[i] /= 1000
		}
		fmt.Fprintf(&b, "| %s | %s | %s M | %s | %s | %s | %s | %s | %s |\n", name(workNames, c.work), name(labelNames, c.label), number(c.records/1e6, 1),
			runs(thousands, 0), runs(c.cpu, 2), runs(c.broker, 2), runs(c.start, 1), runs(c.memory, 0), output)
	}
	return b.String()
}

func runs(values []float64, decimals int) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = number(v, decimals)
	}
	return strings.Join(texts, " / ")
}

// number rounds; a value that was not measured is a dash.
func number(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func verdict(v float64, holds bool) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case holds:
		return "yes"
	}
	return "**no**"
}

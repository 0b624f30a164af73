package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cell is what one program did in one work at one interval, over all its runs.
type cell struct {
	label, work string
	interval    int // between checkpoints or commits, ms
	// records is the size of the input; rate is in records/s.
	records float64
	rate    samples
	// cpu and broker are CPU seconds for a million records; start is seconds to the first committed output, memory the peak
	// in MB (10^6 bytes).
	cpu, broker, start, memory samples
	right                      bool // every run's output was
}

// usual is the interval of cells without one of their own, ms.
const usual = 1000

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
		var n [7]float64
		for j, at := range []int{2, 3, 4, 6, 7, 8, 9} {
			if n[j], err = strconv.ParseFloat(row[at], 64); err != nil {
				return nil, fmt.Errorf("line %d, column %d: %w", i+1, at+1, err)
			}
		}
		c := find(cells, row[0], row[1], int(n[0]))
		if c == nil {
			c = &cell{label: row[0], work: row[1], interval: int(n[0]), records: n[1], right: true}
			cells = append(cells, c)
		}
		if c.records != n[1] {
			return nil, fmt.Errorf("line %d: %s %s over %g records, before over %g: not one measurement", i+1, c.label, c.work, n[1], c.records)
		}
		for j, into := range []*samples{&c.rate, &c.cpu, &c.broker, &c.start} {
			*into = append(*into, n[j+2])
		}
		c.memory = append(c.memory, n[6]*1.048576) // watch has MiB
		c.right = c.right && strings.HasPrefix(row[11], "OK")
	}
	slices.SortStableFunc(cells, func(a, b *cell) int {
		if a.work != b.work {
			return strings.Compare(a.work, b.work)
		}
		return b.interval - a.interval
	})
	return cells, nil
}

func find(cells []*cell, label, work string, interval int) *cell {
	for _, c := range cells {
		if c.label == label && c.work == work && c.interval == interval {
			return c
		}
	}
	return nil
}

var workNames = map[string]string{
	"w1": "W1 pass-through", "w2": "W2 JSON filter and projection", "w3": "W3 running count and sum", "w4": "W4 one-minute windows",
	"w5": "W5: W3 with more state than memory", "w6": "W6: W3 with keys by Zipf", "w7": "W7 join within a window",
}

var labelNames = map[string]string{
	"weir": "Weir, Go", "weir-snappy": "Weir, Go, snappy", "weir-yaml": "Weir, YAML",
	"limit": "limit (bare franz-go)", "limit-alt": "limit-alt (two producers in turn)",
	"limit-snappy": "limit, snappy", "limit-alt-snappy": "limit-alt, snappy",
	"limit-json": "limit-json (bare franz-go)", "limit-json-alt": "limit-json-alt (two producers in turn)",
	"raw-lz4": "raw (batches in place, no checkpointed state)", "raw-snappy": "raw, snappy",
	"flink-rocksdb": "Flink RocksDB", "flink-hashmap": "Flink HashMap", "kstreams": "Kafka Streams", "kstreams-emit0": "Kafka Streams, emit interval 0",
	"flink": "Flink RocksDB",
}

func name(names map[string]string, key string) string {
	if n := names[key]; n != "" {
		return n
	}
	return key
}

// workAt names a work and, if it is not the usual one, the interval.
func workAt(work string, interval int) string {
	text := name(workNames, work)
	if interval != usual {
		text += fmt.Sprintf(", %d ms", interval)
	}
	return text
}

// cellsTable lists everything that was measured.
func cellsTable(cells []*cell) string {
	if len(cells) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| work | program | records | runs | k records/s | job CPU-s per M | broker CPU-s per M | start to first output, s | peak RSS, MB | output |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range cells {
		output := "right"
		if !c.right {
			output = "**wrong**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s M | %d | %s | %s | %s | %s | %s | %s |\n", workAt(c.work, c.interval), name(labelNames, c.label), number(c.records/1e6, 1),
			len(c.rate), c.rate.times(1e-3).text(0), c.cpu.text(2), c.broker.text(2), c.start.text(1), c.memory.text(0), output)
	}
	return b.String()
}

package main

import (
	"fmt"
	"strconv"
	"strings"
)

const latencyPrefix = "latency-"

// latencyTable shows the figures latency-WORK-MILLISECONDS and their -cpu side by side.
func latencyTable(all []*measured) string {
	var b strings.Builder
	for _, m := range all {
		rest, ok := strings.CutPrefix(m.figure, latencyPrefix)
		if !ok || strings.HasSuffix(rest, "-cpu") {
			continue
		}
		work, ms, _ := strings.Cut(rest, "-")
		interval, _ := strconv.Atoi(ms)
		if b.Len() == 0 {
			b.WriteString("| work | interval, ms | program | results | p50, ms | p99, ms | max, ms | job CPU-s per M | wanted | holds |\n|---|---|---|---|---|---|---|---|---|---|\n")
		}
		cpu := number(cpuOf(all, m).median(), 2)
		wanted, holds := "", ""
		if m.program == "weir" {
			wanted, holds = latencyMarks(all, m, work, interval)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %s | %s | %s | %s | %s | %s |\n", name(workNames, work), interval, name(labelNames, m.program), m.samples,
			m.p50.text(1), m.p99.text(1), m.max.text(0), cpu, wanted, holds)
	}
	return b.String()
}

func cpuOf(all []*measured, m *measured) samples {
	if c := figureOf(all, m.figure+"-cpu", m.program); c != nil {
		return c.p50
	}
	return nil
}

// latencyMarks are those of Weir: absolute ones at 20 ms; at 100 ms limit-alt's latency on W1, whatever the work, and a fifth
// of Flink's CPU time on the same work.
func latencyMarks(all []*measured, m *measured, work string, interval int) (wanted, holds string) {
	var texts []string
	good := true
	most := func(text string, value, limit float64, decimals int) {
		texts = append(texts, text+" at most "+number(limit, decimals))
		good = good && value <= limit
	}
	switch interval {
	case 20:
		most("p50", m.p50.median(), 30, 0)
		most("p99", m.p99.median(), 80, 0)
	case 100:
		if peer := figureOf(all, latencyPrefix+"w1-100", "limit-alt"); peer != nil {
			most("p50", m.p50.median(), peer.p50.median(), 1)
			most("p99", m.p99.median(), peer.p99.median(), 1)
		}
	}
	if flink := figureOf(all, latencyPrefix+work+"-100", "flink"); flink != nil {
		most("CPU", cpuOf(all, m).median(), cpuOf(all, flink).median()/5, 2)
	}
	if len(texts) == 0 {
		return "", ""
	}
	return strings.Join(texts, ", "), verdict(0, good)
}

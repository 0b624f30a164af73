package main

import (
	"fmt"
	"strings"
)

// quantity is what a mark compares.
type quantity struct {
	name string
	of   func(*cell) samples
	// scale and decimals are how it is shown.
	scale    float64
	decimals int
	least    bool // more is better
}

var (
	throughput = &quantity{"k records/s", func(c *cell) samples { return c.rate }, 1e-3, 0, true}
	cpuTime    = &quantity{"CPU-s per M", func(c *cell) samples { return c.cpu }, 1, 2, false}
)

// mark is how a program must stand beside another one: the ratio of their medians.
type mark struct {
	work, label string
	what        *quantity
	factor      float64 // 0 if nothing is wanted: the ratio is shown
	// peers are programs of which the best counts, at peerWork, which is work if empty.
	peers    []string
	peerWork string
	// interval is that of the program where the peer has the usual one; 0 for the same for both.
	interval int
}

var marks = append([]mark{
	{work: "w1", label: "weir", what: throughput, factor: 1.1, peers: []string{"limit", "limit-alt"}},
	{work: "w1", label: "weir", what: cpuTime, factor: 0.85, peers: []string{"limit"}},
	{work: "w1", label: "weir-snappy", what: throughput, factor: 1.25, peers: []string{"limit-snappy", "limit-alt-snappy"}},
	{work: "w1", label: "weir-snappy", what: cpuTime, factor: 0.65, peers: []string{"limit-snappy"}},
	{work: "w2", label: "weir", what: throughput, factor: 1.2, peers: []string{"limit-json"}},
	{work: "w2", label: "weir", what: cpuTime, factor: 0.75, peers: []string{"limit-json"}},
	{work: "w3", label: "weir", what: throughput, factor: 8, peers: []string{"flink-rocksdb"}},
	{work: "w3", label: "weir", what: throughput, factor: 3, peers: []string{"flink-hashmap"}},
	{work: "w3", label: "weir", what: throughput, factor: 8, peers: []string{"kstreams"}},
	{work: "w3", label: "weir", what: cpuTime, factor: 1, peers: []string{"limit-json"}, peerWork: "w2"},
	{work: "w4", label: "weir", what: throughput, factor: 12, peers: []string{"flink-rocksdb"}},
	{work: "w4", label: "weir", what: throughput, factor: 4, peers: []string{"flink-hashmap"}},
	{work: "w4", label: "weir", what: throughput, factor: 8, peers: []string{"kstreams-emit0"}},
	{work: "w4", label: "weir", what: cpuTime, factor: 0.8, peers: []string{"limit-json"}, peerWork: "w2"},
	{work: "w7", label: "weir", what: throughput, peers: []string{"flink-rocksdb"}},
	{work: "w7", label: "weir", what: throughput, peers: []string{"flink-hashmap"}},
	{work: "w7", label: "weir", what: throughput, peers: []string{"kstreams"}},
}, ownMarks()...)

// ownMarks compare Weir with itself.
func ownMarks() (all []mark) {
	works := []string{"w1", "w2", "w3", "w4"}
	for _, w := range works {
		all = append(all, mark{work: w, label: "weir-yaml", what: throughput, factor: 0.7, peers: []string{"weir"}})
	}
	for _, w := range works {
		all = append(all, mark{work: w, label: "weir", what: throughput, factor: 0.95, peers: []string{"weir"}, interval: 100})
	}
	return all
}

// memoryMarks are what the peak of the resident memory must stay under, MB.
var memoryMarks = []struct {
	work, label string
	most        float64
}{
	{"w3", "weir", 400},
	{"w5", "weir", 640}, // a budget of 512 MB and a quarter of it
}

// marksTable compares Weir with its peers; marks of which a side was not measured are left out.
func marksTable(cells []*cell) string {
	var b strings.Builder
	row := func(columns ...string) {
		if b.Len() == 0 {
			b.WriteString("| work | program | of | median | compared with | median | ratio | wanted | holds |\n|---|---|---|---|---|---|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(columns, " | "))
	}
	for i := range marks {
		m := &marks[i]
		for _, own := range cells {
			if own.label != m.label || own.work != m.work || m.interval != 0 && own.interval != m.interval {
				continue
			}
			peer := m.peer(cells, own)
			if peer == nil {
				continue
			}
			mine, theirs := m.what.of(own).median(), m.what.of(peer).median()
			ratio, wanted := mine/theirs, "at most "
			holds := ratio <= m.factor
			if m.what.least {
				holds, wanted = ratio >= m.factor, "at least "
			}
			wanted, held := wanted+fmt.Sprint(m.factor), verdict(ratio, holds && own.right && peer.right)
			if m.factor == 0 {
				wanted = ""
				if own.right && peer.right {
					held = ""
				}
			}
			other := name(labelNames, peer.label)
			if peer.work != own.work {
				other += " on " + strings.ToUpper(peer.work)
			}
			if peer.interval != own.interval {
				other += fmt.Sprintf(" at %d ms", peer.interval)
			}
			row(workAt(own.work, own.interval), name(labelNames, own.label), m.what.name, number(mine*m.what.scale, m.what.decimals), other,
				number(theirs*m.what.scale, m.what.decimals), number(ratio, 2), wanted, held)
		}
	}
	for _, m := range memoryMarks {
		if own := find(cells, m.label, m.work, usual); own != nil {
			v := own.memory.median()
			row(workAt(own.work, own.interval), name(labelNames, own.label), "peak RSS, MB", number(v, 0), "", "", "", fmt.Sprintf("at most %g", m.most), verdict(v, v <= m.most && own.right))
		}
	}
	return b.String()
}

// peer is the cell that own is compared with: the best of those measured, nil if none is.
func (m *mark) peer(cells []*cell, own *cell) (best *cell) {
	work, interval := m.peerWork, own.interval
	if work == "" {
		work = m.work
	}
	if m.interval != 0 {
		interval = usual
	}
	for _, label := range m.peers {
		c := find(cells, label, work, interval)
		if c == nil || c == own {
			continue
		}
		if better := best == nil || (m.what.of(c).median() > m.what.of(best).median()) == m.what.least; better {
			best = c
		}
	}
	return best
}

package main

import (
	"fmt"
	"math"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartWidth = 760
	barLeft    = 190 // where bars begin; the names stand before
	barMost    = 470 // the longest bar; the numbers stand behind
	barHeight  = 16
	barStep    = 21
	groupHead  = 30
	groupGap   = 12
)

// chartPrograms are the programs of the chart, in their order, and the class that gives a bar its colour.
var chartPrograms = []struct{ label, text, class string }{
	{"weir", "Weir, Go", "own"},
	{"weir-yaml", "Weir, YAML", "own"},
	{"limit", "bare franz-go", "bare"},
	{"limit-json", "bare franz-go", "bare"},
	{"flink-hashmap", "Flink, HashMap", "peer"},
	{"flink-rocksdb", "Flink, RocksDB", "peer"},
	{"kstreams", "Kafka Streams", "peer"},
	{"kstreams-emit0", "Kafka Streams", "peer"},
}

// chartStyle has colours that can be told apart on a light and on a dark page; the page shows through.
const chartStyle = `<style>
text{font:13px system-ui,sans-serif;fill:#24292f}.head{font-weight:600}.note{fill:#57606a;font-size:12px}
.own{fill:#0969da}.bare{fill:#8c959f}.peer{fill:#bf8700}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.own{fill:#4493f8}.bare{fill:#768390}.peer{fill:#d29922}}
</style>
`

// drawChart draws the median throughput of W1 to W4 at the usual interval: a group of bars a work, all to one scale, with a
// line from the least to the greatest of the runs. Programs that were not measured or whose output is wrong are left out.
func drawChart(cells []*cell) string {
	var body strings.Builder
	most := 0.0
	for _, c := range cells {
		if bar(c) {
			most = max(most, c.rate.max())
		}
	}
	x := func(rate float64) float64 { return barLeft + rate/most*barMost }
	y := groupGap
	for _, work := range []string{"w1", "w2", "w3", "w4"} {
		head := false
		for _, p := range chartPrograms {
			c := find(cells, p.label, work, usual)
			if c == nil || !bar(c) {
				continue
			}
			if !head {
				head = true
				y += groupHead
				fmt.Fprintf(&body, "<text class=\"head\" x=\"8\" y=\"%d\">%s</text>\n", y-10, name(workNames, work))
			}
			rate := c.rate.median()
			middle := y + barHeight/2
			fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", barLeft-8, middle+5, p.text)
			fmt.Fprintf(&body, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n", p.class, barLeft, y, x(rate)-barLeft, barHeight)
			if len(c.rate) > 1 {
				least := c.rate.times(-1).max() * -1
				fmt.Fprintf(&body, "<path d=\"M%.1f %dH%.1f\" stroke=\"#888\" stroke-width=\"2\"/>\n", x(least), middle, x(c.rate.max()))
			}
			fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", max(x(rate), x(c.rate.max()))+6, middle+5, thousands(rate))
			y += barStep
		}
		if head {
			y += groupGap
		}
	}
	y += 8
	note := "records/s, median of the runs; the line is from the least to the greatest. More is better."
	fmt.Fprintf(&body, "<text class=\"note\" x=\"8\" y=\"%d\">%s</text>\n", y, note)
	height := y + 12
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"Throughput by work and program\">\n",
		chartWidth, height, chartWidth, height) + chartStyle + body.String() + "</svg>\n"
}

// bar reports whether a cell has one in the chart.
func bar(c *cell) bool {
	if !c.right || c.interval != usual || math.IsNaN(c.rate.median()) || math.IsInf(c.rate.median(), 0) || c.work > "w4" {
		return false
	}
	for _, p := range chartPrograms {
		if p.label == c.label {
			return true
		}
	}
	return false
}

// thousands writes a rate as "1,572,000", rounded to thousands.
func thousands(rate float64) string {
	k := int(math.Round(rate / 1000))
	if k >= 1000 {
		return fmt.Sprintf("%d,%03d,000", k/1000, k%1000)
	}
	return fmt.Sprintf("%d,000", k)
}

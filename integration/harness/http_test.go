package harness

import "testing"

func TestMetricAddsUpWhatMatches(t *testing.T) {
	const page = `# HELP weir_records_total Records read.
weir_records_total{topic="a",partition="0"} 3
weir_records_total{topic="a",partition="1"} 4.5
weir_records_total{topic="b",partition="0"} 100
weir_records_total_other 7
weir_up 1
`
	for _, c := range []struct {
		name    string
		labels  []string
		want    float64
		samples int
	}{
		{"weir_records_total", nil, 107.5, 3},
		{"weir_records_total", []string{`topic="a"`}, 7.5, 2},
		{"weir_records_total", []string{`topic="a"`, `partition="1"`}, 4.5, 1},
		{"weir_up", nil, 1, 1},
		{"weir_down", nil, 0, 0},
	} {
		got, samples := Metric(page, c.name, c.labels...)
		if got != c.want || samples != c.samples {
			t.Errorf("%s %v: %v %v, want %v %v", c.name, c.labels, got, samples, c.want, c.samples)
		}
	}
}

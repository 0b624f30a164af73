package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestChartHasABarForEachRightThroughput(t *testing.T) {
	cells, err := parseCells(cellLines)
	if err != nil {
		t.Fatal(err)
	}
	svg := drawChart(cells)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("no XML: %v\n%s", err, svg)
		}
	}
	// weir and limit in W1 and Flink in W3: W3 of weir is wrong, W2 was not measured, limit-alt and W5 are not in the chart.
	if n := strings.Count(svg, "<rect "); n != 3 {
		t.Errorf("%d bars, want 3\n%s", n, svg)
	}
	// limit's greatest run, a million, is the longest.
	for _, want := range []string{
		`<rect class="own" x="190" y="42" width="423.0" `, `<rect class="bare" x="190" y="63" width="380.7" `,
		`<path d="M566.0 71H660.0"`, ">810,000</text>", ">100,000</text>", ">W1 pass-through</text>", ">W3 running count and sum</text>",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "W2") || strings.Contains(svg, "NaN") {
		t.Errorf("what was not measured is in\n%s", svg)
	}
}

func TestChartOfNothingIsEmpty(t *testing.T) {
	if svg := drawChart(nil); strings.Contains(svg, "<rect ") || strings.Contains(svg, "NaN") {
		t.Error(svg)
	}
}

func TestThousandsAreGrouped(t *testing.T) {
	for rate, want := range map[float64]string{1_572_400: "1,572,000", 999_600: "1,000,000", 98_200: "98,000", 2_000_000: "2,000,000"} {
		if got := thousands(rate); got != want {
			t.Errorf("%g: %s, want %s", rate, got, want)
		}
	}
}

package main

import (
	"math"
	"testing"
)

func TestMedianIsTheMiddleOfTheRuns(t *testing.T) {
	for _, c := range []struct {
		runs samples
		want float64
	}{
		{samples{7}, 7}, {samples{9, 1}, 5}, {samples{9, 1, 2}, 2}, {samples{4, 1, 3, 2}, 2.5}, {nil, math.NaN()}, {samples{1, math.NaN()}, math.NaN()},
	} {
		got := c.runs.median()
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("median of %v: %g, want %g", c.runs, got, c.want)
		}
	}
	unsorted := samples{3, 1, 2}
	if unsorted.median(); unsorted[0] != 3 {
		t.Errorf("the runs are in another order now: %v", unsorted)
	}
}

func TestTextShowsTheSpreadOfSeveralRuns(t *testing.T) {
	for _, c := range []struct {
		runs samples
		want string
	}{
		{samples{1.25}, "1.2"}, {samples{3, 1, 2}, "2.0 (1.0-3.0)"}, {samples{math.NaN(), 1}, "-"}, {nil, "-"},
	} {
		if got := c.runs.text(1); got != c.want {
			t.Errorf("%v: %q, want %q", c.runs, got, c.want)
		}
	}
}

package main

import (
	"math"
	"slices"
	"strconv"
)

// samples are the values of several runs.
type samples []float64

// median is the middle of the runs, or of the two in the middle; NaN if there is none, or if the input was too small to
// measure one.
func (s samples) median() float64 {
	if len(s) == 0 || slices.ContainsFunc(s, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(len(s)-1)/2] + sorted[len(s)/2]) / 2
}

func (s samples) max() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return slices.Max(s)
}

func (s samples) times(factor float64) samples {
	out := slices.Clone(s)
	for i := range out {
		out[i] *= factor
	}
	return out
}

// text is the median and, of several runs, the least and the greatest.
func (s samples) text(decimals int) string {
	m := s.median()
	if len(s) < 2 || math.IsNaN(m) {
		return number(m, decimals)
	}
	return number(m, decimals) + " (" + number(slices.Min(s), decimals) + "-" + number(slices.Max(s), decimals) + ")"
}

// number rounds; a value that was not measured is a dash.
func number(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
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

func verdict(v float64, holds bool) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case holds:
		return "yes"
	}
	return "**no**"
}

package job_test

import (
	"maps"
	"slices"
)

// timesOf groups event times by key, sorted. Records at never are there to move time on, and are in no result.
func timesOf(all []datum) map[string][]int64 {
	times := map[string][]int64{}
	for _, d := range all {
		if d.At < never {
			times[d.Key] = append(times[d.Key], d.At)
		}
	}
	for _, t := range times {
		slices.Sort(t)
	}
	return times
}

// panes counts per key and window, in order of the windows' ends.
func panes(all []datum, size, slide int64) (out []datum) {
	for key, times := range timesOf(all) {
		counts := map[int64]int64{}
		for _, t := range times {
			for start := t / slide * slide; start > t-size; start -= slide {
				counts[start]++
			}
		}
		for _, start := range slices.Sorted(maps.Keys(counts)) {
			out = append(out, datum{key, start*1000 + counts[start], 0})
		}
	}
	return out
}

// sessions counts per key and session.
func sessions(all []datum, gap int64) (out []datum) {
	for key, times := range timesOf(all) {
		for i := 0; i < len(times); {
			first, n := times[i], int64(1)
			for i++; i < len(times) && times[i]-times[i-1] < gap; i++ {
				n++
			}
			out = append(out, datum{key, first*1000 + n, 0})
		}
	}
	return out
}

// alarms counts per key the timers that fire, in order of time.
func alarms(all []datum, every int64) (out []datum) {
	for key, times := range timesOf(all) {
		last, n := int64(-1), int64(0)
		for _, t := range times {
			if at := t/every*every + every; at != last {
				last, n = at, n+1
				out = append(out, datum{key, at*1000 + n, 0})
			}
		}
	}
	return out
}

// run takes data through stages, as a plain loop.
func run(stages []stage, in []datum) []datum {
	for _, s := range stages {
		if s.end != nil {
			in = s.end(in)
			continue
		}
		f := s.loop()
		var out []datum
		for _, d := range in {
			out = append(out, f(d)...)
		}
		in = out
	}
	return in
}

package clicks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Result is one record of the output: a user's clicks so far and what they were worth.
type Result struct {
	User   string  `json:"user"`
	Clicks int64   `json:"clicks"`
	Total  float64 `json:"total"`
}

// ParseResult reads a record of the output.
func ParseResult(value []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(value, &r); err != nil {
		return r, fmt.Errorf("%.80q: %w", value, err)
	}
	return r, nil
}

// Sums is what the example must write: for each user one result a click, in order.
type Sums struct {
	totals map[string][]float64 // after the n-th click
	count  int64
}

// Add takes one event into account.
func (s *Sums) Add(e Event) {
	if s.totals == nil {
		s.totals = map[string][]float64{}
	}
	all := s.totals[e.User]
	var last float64
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	s.totals[e.User] = append(all, last+e.Amount)
	s.count++
}

// Count is the number of results.
func (s *Sums) Count() int64 { return s.count }

// Difference is how an output differs from what it must be.
type Difference struct {
	Lost, Doubled, Wrong, Disordered int64
	// Examples are a few of them, in words.
	Examples []string
}

// None reports that there is no difference.
func (d *Difference) None() bool { return d.Lost+d.Doubled+d.Wrong+d.Disordered == 0 }

func (d *Difference) example(format string, args ...any) {
	if len(d.Examples) < 8 {
		d.Examples = append(d.Examples, fmt.Sprintf(format, args...))
	}
}

// Compare compares what was read, for each user in the order in which it was read, with what must be there.
func (s *Sums) Compare(got map[string][]Result) Difference {
	var d Difference
	for _, user := range slices.Sorted(maps.Keys(s.totals)) {
		d.user(user, s.totals[user], got[user])
	}
	for _, user := range slices.Sorted(maps.Keys(got)) {
		if _, ok := s.totals[user]; !ok {
			d.Wrong += int64(len(got[user]))
			d.example("user %s: %d results, but has no events", user, len(got[user]))
		}
	}
	return d
}

func (d *Difference) user(user string, want []float64, got []Result) {
	seen := make([]bool, len(want))
	var last int64
	for _, r := range got {
		switch n := r.Clicks; {
		case n < 1 || n > int64(len(want)):
			d.Wrong++
			d.example("user %s: click %d, but there are %d", user, n, len(want))
			continue
		case seen[n-1]:
			d.Doubled++
			d.example("user %s: click %d comes again", user, n)
			continue
		case r.Total != want[n-1]:
			d.Wrong++
			d.example("user %s: after click %d the sum is %v, not %v", user, n, r.Total, want[n-1])
		}
		seen[r.Clicks-1] = true
		if r.Clicks < last {
			d.Disordered++
			d.example("user %s: click %d comes after click %d", user, r.Clicks, last)
		}
		last = r.Clicks
	}
	for i, ok := range seen {
		if !ok {
			d.Lost++
			d.example("user %s: click %d is missing", user, i+1)
		}
	}
}

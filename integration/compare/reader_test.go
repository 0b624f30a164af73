package main

import (
	"testing"

	"github.com/weirstream/weir/integration/harness"
)

func TestTallyTellsLostDoubledAndWrong(t *testing.T) {
	want := harness.Sums{"a": {1, 3, 6}, "b": {5}}
	for _, c := range []struct {
		name    string
		got     harness.Sums
		tally   tally
		through bool
	}{
		{"equal", harness.Sums{"a": {1, 3, 6}, "b": {5}}, tally{records: 4}, true},
		{"lost in the middle", harness.Sums{"a": {1, 6}, "b": {5}}, tally{records: 4, lost: 1}, true},
		{"lost at the end", harness.Sums{"a": {1, 3}, "b": {5}}, tally{records: 4, lost: 1}, false},
		{"a key is missing", harness.Sums{"a": {1, 3, 6}}, tally{records: 4, lost: 1}, false},
		{"read again", harness.Sums{"a": {1, 3, 3, 6}, "b": {5, 5}}, tally{records: 4, doubled: 2}, true},
		{"begun again", harness.Sums{"a": {1, 3, 1, 3, 6}, "b": {5}}, tally{records: 4, doubled: 2, shuffle: 1}, true},
		{"state lost", harness.Sums{"a": {1, 2, 5}, "b": {5}}, tally{records: 4, lost: 2, other: 2}, false},
		{"a key of nobody", harness.Sums{"a": {1, 3, 6}, "b": {5}, "c": {1}}, tally{records: 4, other: 1}, true},
	} {
		if got := compare(want, c.got); got != c.tally {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.tally)
		}
		if got := through(want, c.got); got != c.through {
			t.Errorf("%s: through is %v", c.name, got)
		}
	}
}

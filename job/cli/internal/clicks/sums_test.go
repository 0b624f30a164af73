package clicks

import "testing"

func TestCompareNamesEachKindOfDifference(t *testing.T) {
	var want Sums
	for _, amount := range []float64{5, 7, 1} {
		want.Add(Event{User: "a", Amount: amount})
	}
	r := func(clicks int64, total float64) Result { return Result{User: "a", Clicks: clicks, Total: total} }
	for _, c := range []struct {
		name string
		got  map[string][]Result
		want Difference
	}{
		{"equal", map[string][]Result{"a": {r(1, 5), r(2, 12), r(3, 13)}}, Difference{}},
		{"lost", map[string][]Result{"a": {r(1, 5), r(3, 13)}}, Difference{Lost: 1}},
		{"nothing", nil, Difference{Lost: 3}},
		{"doubled", map[string][]Result{"a": {r(1, 5), r(2, 12), r(2, 12), r(3, 13)}}, Difference{Doubled: 1}},
		{"wrong sum", map[string][]Result{"a": {r(1, 5), r(2, 11), r(3, 13)}}, Difference{Wrong: 1}},
		{"too many", map[string][]Result{"a": {r(1, 5), r(2, 12), r(3, 13), r(4, 14)}}, Difference{Wrong: 1}},
		{"disordered", map[string][]Result{"a": {r(2, 12), r(1, 5), r(3, 13)}}, Difference{Disordered: 1}},
		{"foreign", map[string][]Result{"a": {r(1, 5), r(2, 12), r(3, 13)}, "b": {r(1, 1)}}, Difference{Wrong: 1}},
	} {
		got := want.Compare(c.got)
		if got.None() != (len(got.Examples) == 0) {
			t.Errorf("%s: examples %v", c.name, got.Examples)
		}
		got.Examples = nil
		if got.Lost != c.want.Lost || got.Doubled != c.want.Doubled || got.Wrong != c.want.Wrong || got.Disordered != c.want.Disordered {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestSourceMakesTheSameEventsAgain(t *testing.T) {
	a, b := Source{Seed: 7, Users: 100}, Source{Seed: 7, Users: 100}
	users := map[string]int{}
	for i := range int64(1000) {
		e := a.At(i)
		if e != b.At(i) {
			t.Fatalf("event %d differs", i)
		}
		if e.Amount*4 != float64(int64(e.Amount*4)) || e.Amount <= 0 {
			t.Errorf("event %d: amount %v is not a multiple of 0.25", i, e.Amount)
		}
		users[e.User]++
	}
	if len(users) < 50 {
		t.Errorf("%d users, want nearly 100", len(users))
	}
}

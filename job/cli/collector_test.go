package cli

import "testing"

func TestTheCollectorKeepsToTheBudgetAsLongAsItCan(t *testing.T) {
	const budget = 640 << 20
	for _, tc := range []struct{ alive, want int64 }{
		{0, budget},
		{400 << 20, budget},
		{460 << 20, budget},
		{480 << 20, 664 << 20},
		{4 << 30, 5<<30 + 64<<20},
	} {
		if got := memoryLimit(budget, tc.alive); got != tc.want {
			t.Errorf("%d MiB alive: %d MiB, want %d", tc.alive>>20, got>>20, tc.want>>20)
		}
	}
}

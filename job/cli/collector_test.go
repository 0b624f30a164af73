package cli

import "testing"

func TestTheCollectorKeepsToTheBudgetAsLongAsItCan(t *testing.T) {
	const budget = 640 << 20
	for _, tc := range []struct{ alive, want int64 }{
		{0, budget},
		{400 << 20, budget},
		{540 << 20, budget},
		{560 << 20, 662 << 20},
		{4 << 30, 4<<30 + 512<<20 + 32<<20},
	} {
		if got := memoryLimit(budget, tc.alive); got != tc.want {
			t.Errorf("%d MiB alive: %d MiB, want %d", tc.alive>>20, got>>20, tc.want>>20)
		}
	}
}

package operatortest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weirstream/weir/operators"
)

// driver is a harness of any kind as a script is run on it.
type driver interface {
	Snapshot() *Snapshot
	Evict()
	Log() []string
}

// CheckRestore runs a script of steps on the operator in one go, and then again with a restart before each step: a
// snapshot, and a new operator that goes on from it. It fails the test if a step gives anything else than in the first run:
// results, side outputs, late events. The script is also run with a snapshot after every step whose entries then leave the
// memory, and with a restart at twice the parallelism.
func CheckRestore[In, Out any](t TB, spec operators.Spec[In, Out], script []func(*Harness[In, Out]), opts ...Option) {
	t.Helper()
	check(t, script, func(snap *Snapshot, n Parallelism) *Harness[In, Out] {
		if !spec.Keyed {
			n = 1
		}
		return start(t, spec, snap, append(slices.Clip(opts), n))
	})
}

// CheckRestore2 is [CheckRestore] for an operator with two inputs.
func CheckRestore2[A, B, Out any](t TB, spec operators.Spec2[A, B, Out], script []func(*Harness2[A, B, Out]), opts ...Option) {
	t.Helper()
	check(t, script, func(snap *Snapshot, n Parallelism) *Harness2[A, B, Out] {
		return start2(t, spec, snap, append(slices.Clip(opts), n))
	})
}

func check[H driver](t TB, script []func(H), start func(*Snapshot, Parallelism) H) {
	t.Helper()
	plain := start(nil, 1)
	want := make([][]string, len(script))
	for i, step := range script {
		step(plain)
		want[i] = plain.Log()
	}
	// rest runs the steps from i on.
	rest := func(h H, i int, how string, sorted bool) {
		t.Helper()
		for ; i < len(script); i++ {
			script[i](h)
			got, want := h.Log(), want[i]
			if sorted {
				got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: step %d gives\n\t%s\nand without a restart\n\t%s", how, i, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		}
	}
	for i := range script {
		h := start(nil, 1)
		for _, step := range script[:i] {
			step(h)
		}
		snap := h.Snapshot()
		h.Log()
		rest(start(snap, 1), i, "restart before step "+strconv.Itoa(i), false)
		rest(start(snap, 2), i, "restart at parallelism 2 before step "+strconv.Itoa(i), true)
		rest(h, i, "snapshot before step "+strconv.Itoa(i), false)
	}
	// One snapshot after the other, each of which has only what changed since the one before.
	h := start(nil, 1)
	for i := range script {
		rest(start(h.Snapshot(), 1), i, "restart before step "+strconv.Itoa(i)+", snapshot before every step", false)
		h.Evict()
		script[i](h)
		if got := h.Log(); !slices.Equal(got, want[i]) {
			t.Fatalf("eviction before every step: step %d gives\n\t%s\nand without\n\t%s", i, strings.Join(got, "\n\t"), strings.Join(want[i], "\n\t"))
		}
	}
}

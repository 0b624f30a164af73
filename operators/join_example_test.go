package operators_test

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// Each view with the clicks of the same key at most 10 s after it.
func ExampleIntervalJoin() {
	h := operatortest.New2(nil, operators.IntervalJoin(operators.Between(0, 10*time.Second),
		func(p operators.Pair[string, string]) (string, error) { return p.A + " led to " + p.B, nil },
		operators.JoinOptions[string, string]{}))
	h.ProcessA("u1", "view 1", 1_000)
	h.ProcessB("u1", "click 1", 4_000)
	h.ProcessB("u1", "click 2", 12_000)
	h.ProcessA("u1", "view 2", 3_000)
	fmt.Printf("%q\n", h.Values())
	h.Watermark(stream.MaxTime)
	fmt.Println(h.Entries(), "entries are left")
	// Output:
	// ["view 1 led to click 1" "view 2 led to click 1" "view 2 led to click 2"]
	// 0 entries are left
}

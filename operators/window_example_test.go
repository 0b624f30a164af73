package operators_test

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

func ExampleWindowCount() {
	h := operatortest.New(nil, operators.WindowCount(operators.Tumbling(time.Minute), operators.WindowOptions[string]{}))
	h.Process("ann", "/home", 1_000)
	h.Process("ann", "/cart", 59_999)
	h.Process("ann", "/home", 60_000)
	h.Watermark(59_999)
	fmt.Println(h.Values())
	// Output: [{ann 0 60000 2}]
}

func ExampleWindowAggregate() {
	h := operatortest.New(nil, operators.WindowAggregate(operators.Hopping(10*time.Second, 5*time.Second), meanOf, operators.WindowOptions[float64]{}))
	h.Process("k", 1, 2_000)
	h.Process("k", 4, 7_000)
	h.Watermark(14_999)
	for _, s := range h.Values() {
		fmt.Println(s)
	}
	// Output:
	// k -5000-5000: 1.0
	// k 0-10000: 2.5
	// k 5000-15000: 4.0
}

func ExampleWindowReduce() {
	concat := func(a, b string) string { return a + b }
	h := operatortest.New(nil, operators.WindowReduce(operators.Session(10*time.Second), concat, operators.WindowOptions[string]{}))
	h.Process("k", "a", 0)
	h.Process("k", "b", 4_000)
	h.Process("k", "c", 30_000)
	h.Watermark(30_000)
	for _, ev := range h.Output() {
		fmt.Println(ev.Value, ev.Timestamp)
	}
	// Output: ab 13999
}

func ExampleWindowOptions() {
	late := operatortest.NewSide(operators.Tag[string]{Name: "late"})
	opts := operators.WindowOptions[string]{AllowedLateness: 5 * time.Second, Late: operators.Tag[string]{Name: "late"}}
	h := operatortest.New(nil, operators.WindowCount(operators.Tumbling(10*time.Second), opts), late)
	h.Process("k", "in time", 1_000)
	h.Watermark(9_999)
	h.Process("k", "late, but allowed", 2_000)
	h.Watermark(14_999)
	h.Process("k", "too late", 3_000)
	fmt.Println(h.Values())
	fmt.Println(h.Late(), late.Output()[0].Value)
	// Output:
	// [{k 0 10000 1} {k 0 10000 2}]
	// 1 too late
}

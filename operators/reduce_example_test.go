package operators_test

import (
	"fmt"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

func ExampleReduce() {
	h := operatortest.New(nil, operators.Reduce(func(a, b int) int { return max(a, b) }))
	for _, n := range []int{3, 9, 4} {
		h.Process("k", n, 0)
	}
	fmt.Println(h.Values())
	// Output: [3 9 9]
}

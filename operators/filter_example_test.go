package operators_test

import (
	"fmt"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

func ExampleFilter() {
	h := operatortest.New(nil, operators.Filter(func(n int) bool { return n%2 == 0 }))
	for n := range 5 {
		h.Process("", n, 0)
	}
	fmt.Println(h.Values())
	// Output: [0 2 4]
}

package operators_test

import (
	"fmt"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

func ExampleCount() {
	h := operatortest.New(nil, operators.Count[string]())
	h.Process("ann", "/home", 0)
	h.Process("bob", "/home", 0)
	h.Process("ann", "/cart", 0)
	fmt.Println(h.Values())
	// Output: [{ann 1} {bob 1} {ann 2}]
}

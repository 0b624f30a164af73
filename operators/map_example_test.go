package operators_test

import (
	"fmt"
	"strconv"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

func ExampleMap() {
	h := operatortest.New(nil, operators.Map(strconv.Atoi))
	h.Process("k", "42", 7)
	for _, ev := range h.Output() {
		fmt.Printf("%s at %d: %d\n", ev.Key, ev.Timestamp, ev.Value)
	}
	// Output: k at 7: 42
}

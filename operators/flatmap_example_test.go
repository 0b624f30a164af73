package operators_test

import (
	"fmt"
	"strings"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

func ExampleFlatMap() {
	words := operators.FlatMap(func(line string, emit func(string) error) error {
		for _, w := range strings.Fields(line) {
			if err := emit(w); err != nil {
				return err
			}
		}
		return nil
	})
	h := operatortest.New(nil, words)
	h.Process("", "to be or", 0)
	h.Process("", "", 0)
	h.Process("", "not", 0)
	fmt.Printf("%q\n", h.Values())
	// Output: ["to" "be" "or" "not"]
}

package operators_test

import (
	"fmt"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

type mean struct {
	Sum   float64
	Count int
}

var meanOf = operators.Aggregator[float64, mean, string]{
	Add:   func(m mean, v float64) (mean, error) { return mean{m.Sum + v, m.Count + 1}, nil },
	Merge: func(a, b mean) (mean, error) { return mean{a.Sum + b.Sum, a.Count + b.Count}, nil },
	Result: func(p operators.Pane, m mean) (string, error) {
		return fmt.Sprintf("%s %d-%d: %.1f", p.Key, p.Start, p.End, m.Sum/float64(m.Count)), nil
	},
}

func ExampleAggregate() {
	h := operatortest.New(nil, operators.Aggregate(meanOf))
	for _, v := range []float64{1, 2, 6} {
		h.Process("k", v, 0)
	}
	for _, s := range h.Values() {
		fmt.Println(s)
	}
	// Output:
	// k 0-0: 1.0
	// k 0-0: 1.5
	// k 0-0: 3.0
}

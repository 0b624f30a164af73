package yamljob

import (
	"time"

	"github.com/weirstream/weir/job/yamljob/internal/aggregate"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/operators"
)

// aggregation is what an aggregate step does with a plan.
type aggregation struct {
	key     []row.Field
	calls   int
	windows *operators.Assigner // nil for a running aggregate
	options operators.WindowOptions[row.Row]
	// ttl is that of a running aggregate, if it is positive; timed says that it counts event time.
	ttl   time.Duration
	timed bool
}

// spec makes the operator, with accumulators no larger than the plan needs: the state of a key is two of them.
func (a *aggregation) spec(plan *aggregate.Plan) operators.Spec[row.Row, row.Row] {
	switch plan.Size() {
	case aggregate.SizeOne:
		return specOf(a, aggregate.One{Plan: plan})
	case aggregate.SizeFew:
		return specOf(a, aggregate.Few{Plan: plan})
	}
	return specOf(a, plan)
}

func specOf[A any](a *aggregation, k aggregate.Kernel[A]) operators.Spec[row.Row, row.Row] {
	if a.windows == nil {
		return expiring(operators.Aggregate(aggregatorOf(a, k)), a.ttl, a.timed)
	}
	return operators.WindowAggregate(*a.windows, aggregatorOf(a, k), a.options)
}

// aggregatorOf runs a plan for one subtask. Its results are rows of the key's fields, the aggregates, and for windows their
// start and end.
func aggregatorOf[A any](a *aggregation, k aggregate.Kernel[A]) operators.Aggregator[row.Row, A, row.Row] {
	arena := new(row.Arena)
	kinds := make([]row.Kind, len(a.key))
	for i, f := range a.key {
		kinds[i] = f.Kind
	}
	n := len(kinds) + a.calls
	windowed := a.windows != nil
	if windowed {
		n += 2
	}
	return operators.Aggregator[row.Row, A, row.Row]{
		Add:   k.Add,
		Merge: k.Merge,
		Codec: k,
		Result: func(pane operators.Pane, acc A) (row.Row, error) {
			r := arena.Row(n)
			if err := row.DecodeKey(pane.Key, kinds, r.Values); err != nil {
				return row.Row{}, err
			}
			k.Results(acc, r.Values[len(kinds):])
			if windowed {
				r.Values[n-2], r.Values[n-1] = row.Timestamp(pane.Start), row.Timestamp(pane.End)
			}
			return r, nil
		},
	}
}

package operators_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// allocs measures Process for events of a few keys that the operator knows already.
func allocs[In, Out any](t *testing.T, spec operators.Spec[In, Out], value In) float64 {
	t.Helper()
	ctx := &operators.Context{KeyGroups: stream.DefaultKeyGroups, Groups: stream.KeyGroupRange{Last: stream.DefaultKeyGroups - 1},
		Store: &operatortest.Store{}, Now: func() int64 { return 0 }, Late: func() {}}
	op := spec.New()
	if err := op.Open(ctx); err != nil {
		t.Fatal(err)
	}
	if g, ok := op.(operators.Generator); ok {
		g.OpenSplit(0, stream.MinTime)
	}
	var events [16]stream.Event[In]
	for i := range events {
		key := []byte{byte('a' + i)}
		events[i] = stream.Event[In]{Value: value, Key: key, Group: stream.KeyGroupOf(key, stream.DefaultKeyGroups)}
	}
	emitted := 0
	emit := stream.Emit[Out](func(*stream.Event[Out]) error { emitted++; return nil })
	now := int64(0)
	all := func() {
		for i := range events {
			now++
			events[i].Timestamp = now
			if err := op.Process(&events[i], emit); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 8 {
		all()
	}
	return testing.AllocsPerRun(100, all)
}

func TestARecordCostsNoAllocation(t *testing.T) {
	hour := operators.Tumbling(time.Hour)
	for name, n := range map[string]float64{
		"filter":                allocs(t, operators.Filter(func(n int64) bool { return n > 0 }), 1),
		"map":                   allocs(t, operators.Map(func(n int64) (int64, error) { return n + 1, nil }), 1),
		"flat_map":              allocs(t, operators.FlatMap(func(n int64, emit func(int64) error) error { return emit(n) }), 1),
		"event_time":            allocs(t, operators.EventTimeMillis(func(n int64) int64 { return n }, 0), 1),
		"count":                 allocs(t, operators.Count[int64](), 1),
		"reduce":                allocs(t, operators.Reduce(func(a, b int64) int64 { return a + b }), 1),
		"aggregate":             allocs(t, operators.Aggregate(sumOf), 1),
		"window_count":          allocs(t, operators.WindowCount(hour, operators.WindowOptions[int64]{}), 1),
		"window_count, hopping": allocs(t, operators.WindowCount(operators.Hopping(time.Hour, 30*time.Minute), operators.WindowOptions[int64]{}), 1),
		"window_count, session": allocs(t, operators.WindowCount(operators.Session(time.Hour), operators.WindowOptions[int64]{}), 1),
		"window_reduce":         allocs(t, operators.WindowReduce(hour, func(a, b int64) int64 { return a + b }, operators.WindowOptions[int64]{}), 1),
		"window_aggregate":      allocs(t, operators.WindowAggregate(hour, sumOf, operators.WindowOptions[int64]{}), 1),
		"process":               allocs(t, operators.Process(func() operators.Processor[int64, int64] { return operators.ProcessFunc[int64, int64](pass) }), 1),
	} {
		if n != 0 {
			t.Errorf("%s: %.2f allocations for 16 records", name, n)
		}
	}
}

type sums struct{ Count, Sum int64 }

var sumOf = operators.Aggregator[int64, sums, sums]{
	Add:    func(s sums, n int64) (sums, error) { return sums{s.Count + 1, s.Sum + n}, nil },
	Result: func(_ operators.Pane, s sums) (sums, error) { return s, nil },
}

func pass(_ *operators.ProcessContext, ev *stream.Event[int64], emit func(int64) error) error {
	return emit(ev.Value)
}

package operators_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

func TestBadArgumentsAreReportedByTheSpec(t *testing.T) {
	none := operators.WindowOptions[int]{}
	tumbling := operators.Tumbling(time.Second)
	add := func(a, v int) (int, error) { return a + v, nil }
	result := func(_ operators.Pane, a int) (int, error) { return a, nil }
	for want, err := range map[string]error{
		"filter: no function":                     operators.Filter[int](nil).Err,
		"map: no function":                        operators.Map[int, int](nil).Err,
		"flat_map: no function":                   operators.FlatMap[int, int](nil).Err,
		"event_time: no function":                 operators.EventTime[int](nil, 0).Err,
		"event_time: bound -1s is negative":       operators.EventTime(func(int) time.Time { return time.Time{} }, -time.Second).Err,
		"reduce: no function":                     operators.Reduce[int](nil).Err,
		"aggregate: the aggregator has no Add":    operators.Aggregate(operators.Aggregator[int, int, int]{Result: result}).Err,
		"aggregate: the aggregator has no Result": operators.Aggregate(operators.Aggregator[int, int, int]{Add: add}).Err,
		"window_aggregate: the aggregator has no Merge, which session windows need": operators.WindowAggregate(operators.Session(time.Second), operators.Aggregator[int, int, int]{Add: add, Result: result}, none).Err,
		"window_reduce: no function":                                     operators.WindowReduce[int](tumbling, nil, none).Err,
		"window_count: no window: use Tumbling, Hopping or Session":      operators.WindowCount(operators.Assigner{}, none).Err,
		"window_count: size 1.5ms is not a whole number of milliseconds": operators.WindowCount(operators.Tumbling(1500*time.Microsecond), none).Err,
		"window_count: offset 1µs is not a whole number of milliseconds": operators.WindowCount(tumbling.WithOffset(time.Microsecond), none).Err,
		"window_count: allowed lateness -1s is negative":                 operators.WindowCount(tumbling, operators.WindowOptions[int]{AllowedLateness: -time.Second}).Err,
		"process: no function":                                           operators.Process[int, int](nil).Err,
		"connect: no function":                                           operators.Connect[int, int, int](nil).Err,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestErrorsOfUserFunctionsComeBack(t *testing.T) {
	bad := errors.New("bad")
	for name, err := range map[string]error{
		"map":      operatortest.New(t, operators.Map(func(int) (int, error) { return 0, bad })).Send(&stream.Event[int]{}),
		"flat_map": operatortest.New(t, operators.FlatMap(func(int, func(int) error) error { return bad })).Send(&stream.Event[int]{}),
		"aggregate": operatortest.New(t, operators.Aggregate(operators.Aggregator[int, int, int]{
			Add:    func(int, int) (int, error) { return 0, bad },
			Result: func(operators.Pane, int) (int, error) { return 0, nil },
		})).Send(&stream.Event[int]{}),
		"process": operatortest.New(t, operators.Process(func() operators.Processor[int, int] {
			return operators.ProcessFunc[int, int](func(*operators.ProcessContext, *stream.Event[int], func(int) error) error { return bad })
		})).Send(&stream.Event[int]{}),
	} {
		if !errors.Is(err, bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASideOutputReadWithAnotherTypeIsAnError(t *testing.T) {
	side := operatortest.NewSide(operators.Tag[int]{Name: "refused"})
	h := operatortest.New(t, operators.Process(func() operators.Processor[string, int] {
		return &lengths{tag: operators.Tag[string]{Name: "refused"}}
	}), side)
	if err := h.Send(&stream.Event[string]{}); err == nil || !strings.Contains(err.Error(), `side output "refused"`) {
		t.Fatal(err)
	}
}

// A running result carries the headers of its event and a result of a window none; both have the key.
func TestWhatAResultCarries(t *testing.T) {
	ev := func() *stream.Event[string] {
		return &stream.Event[string]{Key: []byte("k"), Timestamp: 5, Headers: []stream.Header{{Key: "h"}}}
	}
	running := operatortest.New(t, operators.Count[string]())
	windowed := operatortest.New(t, operators.WindowCount(operators.Tumbling(10*time.Millisecond), operators.WindowOptions[string]{}))
	if err := errors.Join(running.Send(ev()), windowed.Send(ev())); err != nil {
		t.Fatal(err)
	}
	windowed.Watermark(9)
	group := stream.KeyGroupOf([]byte("k"), stream.DefaultKeyGroups)
	if r := running.Output()[0]; string(r.Key) != "k" || r.Group != group || r.Timestamp != 5 || len(r.Headers) != 1 {
		t.Errorf("running: %+v", r)
	}
	if w := windowed.Output()[0]; string(w.Key) != "k" || w.Group != group || w.Timestamp != 9 || len(w.Headers) != 0 {
		t.Errorf("window: %+v", w)
	}
}

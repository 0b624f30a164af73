package job_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// datum is what flows through a random job. At is its event time, which no stage changes.
type datum struct {
	Key   string
	N, At int64
}

// never is an event time that no watermark of a test reaches.
const never = int64(2_000_000_000_000)

// stage is one step of a random job, twice: as the job has it, and as a plain loop.
type stage struct {
	text string
	// add appends the step to a job; p makes the options of one step.
	add func(s *job.Stream[datum], name string, p func() []job.Option) *job.Stream[datum]
	// loop makes the function that takes one datum after the other.
	loop func() func(datum) []datum
	// end, if set, makes the results that appear when event time comes to its end; loop's results then do not count.
	end func(all []datum) []datum
}

func apply(text string, f func(datum) []datum, op operators.Spec[datum, datum]) stage {
	return stage{
		text: text,
		add: func(s *job.Stream[datum], name string, p func() []job.Option) *job.Stream[datum] {
			return job.Via(s, name, op, p()...)
		},
		loop: func() func(datum) []datum { return f },
	}
}

// keyedStage is a step behind a key_by.
func keyedStage[Out any](text string, op operators.Spec[datum, Out], out func(Out) datum, loop func() func(datum) []datum) stage {
	return stage{
		text: text,
		add: func(s *job.Stream[datum], name string, p func() []job.Option) *job.Stream[datum] {
			byKey := job.KeyBy(s, name+"-key", func(d datum) string { return d.Key }, p()...)
			return job.Via(job.Via(byKey, name, op, p()...), name+"-out", mapping(out), p()...)
		},
		loop: loop,
	}
}

func same(d datum) datum { return d }

func mapping[In, Out any](f func(In) Out) operators.Spec[In, Out] {
	return operators.Map(func(v In) (Out, error) { return f(v), nil })
}

// perKey makes a loop that keeps something for each key.
func perKey[S any](f func(state S, d datum) (S, []datum)) func() func(datum) []datum {
	return func() func(datum) []datum {
		states := map[string]S{}
		return func(d datum) (out []datum) {
			states[d.Key], out = f(states[d.Key], d)
			return out
		}
	}
}

// stateless are the stages without state.
func stateless(rnd *rand.Rand) stage {
	a, b := 1+rnd.Int64N(3), rnd.Int64N(50)
	switch rnd.IntN(4) {
	case 0:
		f := func(d datum) datum { return datum{d.Key, d.N*a + b, d.At} }
		return apply(fmt.Sprintf("map n*%d+%d", a, b), func(d datum) []datum { return []datum{f(d)} }, mapping(f))
	case 1:
		f := func(d datum) bool { return d.N%(a+2) != 1 }
		return apply(fmt.Sprintf("filter n%%%d", a+2), func(d datum) []datum {
			if f(d) {
				return []datum{d}
			}
			return nil
		}, operators.Filter(f))
	case 2:
		f := func(d datum) (out []datum) {
			for i := range d.N % (a + 1) {
				out = append(out, datum{d.Key, d.N + i, d.At})
			}
			return out
		}
		return apply(fmt.Sprintf("flatmap n%%%d times", a+1), f, operators.FlatMap(func(d datum, emit func(datum) error) error {
			for _, o := range f(d) {
				if err := emit(o); err != nil {
					return err
				}
			}
			return nil
		}))
	default:
		// Another key, but none that two old ones share: else their order would not be defined.
		f := func(d datum) datum { return datum{fmt.Sprint(d.Key, "/", d.N%a), d.N, d.At} }
		return apply(fmt.Sprintf("rekey n%%%d", a), func(d datum) []datum { return []datum{f(d)} }, mapping(f))
	}
}

// stateful are the stages that keep a state for each key and emit for each record.
func stateful(rnd *rand.Rand) stage {
	switch rnd.IntN(5) {
	case 0:
		return keyedStage("sum", operators.Reduce(func(a, b datum) datum { return datum{b.Key, a.N + b.N, b.At} }), same,
			perKey(func(sum int64, d datum) (int64, []datum) { return sum + d.N, []datum{{d.Key, sum + d.N, d.At}} }))
	case 1:
		// The time of an event is with the event, so a count may lose that of its value.
		return keyedStage("count", operators.Count[datum](), func(c operators.KeyCount) datum { return datum{c.Key, c.Count, 0} },
			perKey(func(n int64, d datum) (int64, []datum) { return n + 1, []datum{{d.Key, n + 1, d.At}} }))
	case 2:
		return keyedStage("aggregate", operators.Aggregate(operators.Aggregator[datum, greatest, datum]{
			Add:    func(g greatest, d datum) (greatest, error) { return g.add(d), nil },
			Result: func(p operators.Pane, g greatest) (datum, error) { return datum{p.Key, g.result(), 0}, nil },
		}), same, perKey(func(g greatest, d datum) (greatest, []datum) {
			g = g.add(d)
			return g, []datum{{d.Key, g.result(), d.At}}
		}))
	case 3:
		return keyedStage("last three", operators.Process(func() operators.Processor[datum, datum] { return new(lastThree) }), same,
			perKey(func(l []int64, d datum) ([]int64, []datum) {
				l = append(slices.Clone(l), d.N)
				l = l[max(0, len(l)-3):]
				return l, []datum{{d.Key, total(l), d.At}}
			}))
	default:
		return keyedStage("per digit", operators.Process(func() operators.Processor[datum, datum] { return new(perDigit) }), same,
			perKey(func(m map[int64]int64, d datum) (map[int64]int64, []datum) {
				if m == nil {
					m = map[int64]int64{}
				}
				if m[d.N%10]++; m[d.N%10] == 4 {
					delete(m, d.N%10)
				}
				return m, []datum{{d.Key, m[d.N%10]*100 + int64(len(m)), d.At}}
			}))
	}
}

// timedStage are the stages that emit when event time has come far enough.
func timedStage(rnd *rand.Rand) stage {
	size := 100 * (1 + rnd.Int64N(5))
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	window := func(text string, w operators.Assigner, end func([]datum) []datum) stage {
		s := keyedStage(text, operators.WindowCount[datum](w, operators.WindowOptions[datum]{}),
			func(c operators.KeyWindowCount) datum { return datum{c.Key, c.Start*1000 + c.Count, 0} }, nil)
		s.end = end
		return s
	}
	switch rnd.IntN(4) {
	case 0:
		return window(fmt.Sprint("tumbling ", size), operators.Tumbling(millis(size)), func(all []datum) []datum { return panes(all, size, size) })
	case 1:
		return window(fmt.Sprint("hopping ", size), operators.Hopping(millis(2*size), millis(size)), func(all []datum) []datum { return panes(all, 2*size, size) })
	case 2: // event times are multiples of 10, so that none is exactly a gap away from another
		return window(fmt.Sprint("session ", size+5), operators.Session(millis(size+5)), func(all []datum) []datum { return sessions(all, size+5) })
	default:
		s := keyedStage(fmt.Sprint("timers ", size), operators.Process(func() operators.Processor[datum, datum] { return &bell{every: size} }), same, nil)
		s.end = func(all []datum) []datum { return alarms(all, size) }
		return s
	}
}

type greatest struct{ Max, Count int64 }

func (g greatest) add(d datum) greatest { return greatest{max(g.Max, d.N), g.Count + 1} }
func (g greatest) result() int64        { return g.Max*1000 + g.Count }

// lastThree emits the sum of the last three numbers of a key, which are in a list.
type lastThree struct {
	operators.NoTimers[datum]
	list *operators.List[int64]
}

func (l *lastThree) Open(ctx *operators.Context) (err error) {
	l.list, err = operators.NewList[int64](ctx, "last", nil)
	return err
}

func (l *lastThree) Process(_ *operators.ProcessContext, ev *stream.Event[datum], emit func(datum) error) error {
	if err := l.list.Add(ev.Value.N); err != nil {
		return err
	}
	var values []int64
	if err := l.list.All(func(_ int, n int64) error { values = append(values, n); return nil }); err != nil {
		return err
	}
	if len(values) > 3 {
		values = values[1:]
		if err := l.list.Set(values); err != nil {
			return err
		}
	}
	return emit(datum{ev.Value.Key, total(values), ev.Value.At})
}

func total(values []int64) (sum int64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// perDigit counts by last digit in a map, and forgets a digit that it has seen four times.
type perDigit struct {
	operators.NoTimers[datum]
	digits *operators.MapState[int64, int64]
}

func (p *perDigit) Open(ctx *operators.Context) (err error) {
	p.digits, err = operators.NewMap(ctx, "digits", operators.CBOR[int64](1), operators.CBOR[int64](1))
	return err
}

func (p *perDigit) Process(_ *operators.ProcessContext, ev *stream.Event[datum], emit func(datum) error) error {
	digit := ev.Value.N % 10
	n, _, err := p.digits.Get(digit)
	if err != nil {
		return err
	}
	if n++; n == 4 {
		n, err = 0, p.digits.Delete(digit)
	} else {
		err = p.digits.Put(digit, n)
	}
	if err != nil {
		return err
	}
	size, err := p.digits.Len()
	if err != nil {
		return err
	}
	return emit(datum{ev.Value.Key, n*100 + int64(size), ev.Value.At})
}

// bell sets a timer at the next multiple of every, and emits when it fires how many have.
type bell struct {
	every int64
	fired *operators.Value[int64]
}

func (a *bell) Open(ctx *operators.Context) (err error) {
	a.fired, err = operators.NewValue[int64](ctx, "fired", nil)
	return err
}

func (a *bell) Process(c *operators.ProcessContext, ev *stream.Event[datum], _ func(datum) error) error {
	return c.SetTimer(ev.Timestamp/a.every*a.every + a.every)
}

func (a *bell) OnTimer(c *operators.ProcessContext, t operators.Timer, emit func(datum) error) error {
	n, _, err := a.fired.Get()
	if err != nil {
		return err
	}
	if err := a.fired.Put(n + 1); err != nil {
		return err
	}
	return emit(datum{c.Key(), t.Time*1000 + n + 1, 0})
}

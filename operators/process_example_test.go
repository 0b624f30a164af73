package operators_test

import (
	"fmt"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// quiet tells of keys that nothing was heard of for a minute of event time.
type quiet struct{ last *operators.Value[int64] }

func (q *quiet) Open(ctx *operators.Context) (err error) {
	q.last, err = operators.NewValue[int64](ctx, "last", nil)
	return err
}

func (q *quiet) Process(c *operators.ProcessContext, ev *stream.Event[string], _ func(string) error) error {
	last, ok, err := q.last.Get()
	if err != nil {
		return err
	}
	if ok {
		if err := c.DeleteTimer(last + 60_000); err != nil {
			return err
		}
	}
	if err := q.last.Put(ev.Timestamp); err != nil {
		return err
	}
	return c.SetTimer(ev.Timestamp + 60_000)
}

func (q *quiet) OnTimer(c *operators.ProcessContext, t operators.Timer, emit func(string) error) error {
	if err := q.last.Delete(); err != nil {
		return err
	}
	return emit(fmt.Sprintf("%s is quiet at %d", c.Key(), t.Time))
}

func ExampleProcess() {
	h := operatortest.New(nil, operators.Process(func() operators.Processor[string, string] { return new(quiet) }))
	h.Process("ann", "hello", 0)
	h.Process("bob", "hello", 10_000)
	h.Process("ann", "again", 30_000)
	h.Watermark(80_000)
	fmt.Println(h.Values())
	h.Watermark(stream.MaxTime)
	fmt.Println(h.Values())
	// Output:
	// [bob is quiet at 70000]
	// [ann is quiet at 90000]
}

// A processing-time timer fires when the clock says so, whatever the events' times.
type reminder struct{ text *operators.Value[string] }

func (r *reminder) Open(ctx *operators.Context) (err error) {
	r.text, err = operators.NewValue[string](ctx, "text", nil)
	return err
}

func (r *reminder) Process(c *operators.ProcessContext, ev *stream.Event[string], _ func(string) error) error {
	if err := r.text.Put(ev.Value); err != nil {
		return err
	}
	return c.SetClockTimer(c.Now() + 500)
}

func (r *reminder) OnTimer(_ *operators.ProcessContext, _ operators.Timer, emit func(string) error) error {
	text, _, err := r.text.Get()
	if err != nil {
		return err
	}
	return emit(text)
}

func ExampleProcess_clockTimer() {
	h := operatortest.New(nil, operators.Process(func() operators.Processor[string, string] { return new(reminder) }))
	h.Clock(1_000)
	h.Process("ann", "tea", 0)
	h.Clock(1_499)
	fmt.Println(h.Values())
	h.Clock(1_500)
	fmt.Println(h.Values())
	// Output:
	// []
	// [tea]
}

func ExampleOutput() {
	refused := operators.Tag[string]{Name: "refused"}
	side := operatortest.NewSide(refused)
	h := operatortest.New(nil, operators.Process(func() operators.Processor[string, int] { return &lengths{tag: refused} }), side)
	h.Process("k", "weir", 0)
	h.Process("k", "", 0)
	fmt.Println(h.Values(), len(side.Output()))
	// Output: [4] 1
}

// lengths emits the length of each text, and empty texts to a side output.
type lengths struct {
	operators.NoTimers[int]
	tag     operators.Tag[string]
	refused stream.Emit[string]
}

func (l *lengths) Open(ctx *operators.Context) error {
	l.refused = operators.Output(ctx, l.tag)
	return nil
}

func (l *lengths) Process(_ *operators.ProcessContext, ev *stream.Event[string], emit func(int) error) error {
	if ev.Value == "" {
		return l.refused(ev)
	}
	return emit(len(ev.Value))
}

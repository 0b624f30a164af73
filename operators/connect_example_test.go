package operators_test

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// enrich joins a stream of pages with a table of names: each page with the name that its user has at the moment.
type enrich struct {
	operators.NoTimers[string]
	name *operators.Value[string]
}

func (e *enrich) Open(ctx *operators.Context) (err error) {
	e.name, err = operators.NewValue[string](ctx, "name", nil)
	return err
}

func (e *enrich) ProcessA(_ *operators.ProcessContext, page *stream.Event[string], emit func(string) error) error {
	name, ok, err := e.name.Get()
	if err != nil {
		return err
	}
	if !ok {
		name = "unknown"
	}
	return emit(name + " sees " + page.Value)
}

func (e *enrich) ProcessB(_ *operators.ProcessContext, name *stream.Event[string], _ func(string) error) error {
	return e.name.Put(name.Value)
}

func ExampleConnect() {
	h := operatortest.New2(nil, operators.Connect(func() operators.Processor2[string, string, string] { return new(enrich) }))
	h.ProcessA("u1", "/home", 0)
	h.ProcessB("u1", "Ann", 0)
	h.ProcessA("u1", "/cart", 0)
	fmt.Printf("%q\n", h.Values())
	// Output: ["unknown sees /home" "Ann sees /cart"]
}

// missed tells of each view that no click of the same key has followed for 10 s.
type missed struct {
	view *operators.Value[string]
	due  *operators.Value[int64]
}

func (m *missed) Open(ctx *operators.Context) (err error) {
	if m.view, err = operators.NewValue[string](ctx, "view", nil); err != nil {
		return err
	}
	m.due, err = operators.NewValue[int64](ctx, "due", nil)
	return err
}

// ProcessA takes a view in the place of the one before.
func (m *missed) ProcessA(c *operators.ProcessContext, view *stream.Event[string], _ func(string) error) error {
	if err := m.forget(c); err != nil {
		return err
	}
	due := view.Timestamp + 10_000
	if err := errors.Join(m.view.Put(view.Value), m.due.Put(due)); err != nil {
		return err
	}
	return c.SetTimer(due)
}

func (m *missed) ProcessB(c *operators.ProcessContext, _ *stream.Event[string], _ func(string) error) error {
	return m.forget(c)
}

func (m *missed) forget(c *operators.ProcessContext) error {
	due, ok, err := m.due.Get()
	if err != nil || !ok {
		return err
	}
	return errors.Join(c.DeleteTimer(due), m.due.Delete(), m.view.Delete())
}

func (m *missed) OnTimer(_ *operators.ProcessContext, _ operators.Timer, emit func(string) error) error {
	view, _, err := m.view.Get()
	if err != nil {
		return err
	}
	if err := errors.Join(m.due.Delete(), m.view.Delete()); err != nil {
		return err
	}
	return emit("nobody clicked on " + view)
}

func ExampleConnect_timers() {
	h := operatortest.New2(nil, operators.Connect(func() operators.Processor2[string, string, string] { return new(missed) }))
	h.ProcessA("u1", "view 1", 1_000)
	h.ProcessB("u1", "click 1", 4_000)
	h.ProcessA("u1", "view 2", 5_000)
	h.ProcessA("u2", "view 3", 6_000)
	h.Watermark(15_000)
	fmt.Printf("%q\n", h.Values())
	// Output: ["nobody clicked on view 2"]
}

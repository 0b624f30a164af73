package operators_test

import (
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

// clicksOf joins each view with the clicks of the same key at most 10 s after it (an interval join). Both sides are kept
// by their time and dropped when the watermark tells that no partner can come any more.
type clicksOf struct {
	views, clicks *operators.MapState[int64, []string]
}

const within = 10_000

func (j *clicksOf) Open(ctx *operators.Context) (err error) {
	if j.views, err = operators.NewMap[int64, []string](ctx, "views", nil, nil); err != nil {
		return err
	}
	j.clicks, err = operators.NewMap[int64, []string](ctx, "clicks", nil, nil)
	return err
}

func (j *clicksOf) ProcessA(c *operators.ProcessContext, view *stream.Event[string], emit func(string) error) error {
	if err := keep(c, j.views, view); err != nil {
		return err
	}
	return j.clicks.All(func(at int64, clicks []string) error {
		if at < view.Timestamp || at > view.Timestamp+within {
			return nil
		}
		return pairs(c, at, []string{view.Value}, clicks, emit)
	})
}

func (j *clicksOf) ProcessB(c *operators.ProcessContext, click *stream.Event[string], emit func(string) error) error {
	if err := keep(c, j.clicks, click); err != nil {
		return err
	}
	return j.views.All(func(at int64, views []string) error {
		if click.Timestamp < at || click.Timestamp > at+within {
			return nil
		}
		return pairs(c, click.Timestamp, views, []string{click.Value}, emit)
	})
}

// OnTimer drops what is older than any partner that may still come.
func (j *clicksOf) OnTimer(c *operators.ProcessContext, t operators.Timer, _ func(string) error) error {
	if err := j.views.Delete(t.Time - within - 1); err != nil {
		return err
	}
	return j.clicks.Delete(t.Time - within - 1)
}

// keep adds an event to those of its time. The list is copied: a checkpoint may be reading the old one.
func keep(c *operators.ProcessContext, m *operators.MapState[int64, []string], ev *stream.Event[string]) error {
	old, _, err := m.Get(ev.Timestamp)
	if err != nil {
		return err
	}
	if err := m.Put(ev.Timestamp, append(old[:len(old):len(old)], ev.Value)); err != nil {
		return err
	}
	return c.SetTimer(ev.Timestamp + within + 1)
}

// pairs emits each pair with the time of its click.
func pairs(c *operators.ProcessContext, at int64, views, clicks []string, emit func(string) error) error {
	c.SetTimestamp(at)
	for _, v := range views {
		for _, k := range clicks {
			if err := emit(v + " led to " + k); err != nil {
				return err
			}
		}
	}
	return nil
}

func ExampleConnect_intervalJoin() {
	h := operatortest.New2(nil, operators.Connect(func() operators.Processor2[string, string, string] { return new(clicksOf) }))
	h.ProcessA("u1", "view 1", 1_000)
	h.ProcessB("u1", "click 1", 4_000)
	h.ProcessB("u1", "click 2", 12_000)
	h.ProcessA("u1", "view 2", 3_000)
	fmt.Printf("%q\n", h.Values())
	h.Watermark(stream.MaxTime)
	fmt.Println(h.Entries(), "entries are left")
	// Output:
	// ["view 1 led to click 1" "view 2 led to click 1" "view 2 led to click 2"]
	// 0 entries are left
}

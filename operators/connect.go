package operators

import "github.com/weirstream/weir/stream"

// Processor2 is a [Processor] with two inputs, A and B, which share states and timers: what joins are built on.
type Processor2[A, B, Out any] interface {
	Open(*Context) error
	ProcessA(c *ProcessContext, ev *stream.Event[A], emit func(Out) error) error
	ProcessB(c *ProcessContext, ev *stream.Event[B], emit func(Out) error) error
	OnTimer(c *ProcessContext, timer Timer, emit func(Out) error) error
}

// Connect runs a [Processor2] for each subtask. The two inputs have keys of the same kind; in what order the events of one
// come among those of the other is not known.
func Connect[A, B, Out any](newProcessor func() Processor2[A, B, Out]) Spec2[A, B, Out] {
	return Spec2[A, B, Out]{
		Kind: "connect",
		New: func() Operator2[A, B, Out] {
			p := newProcessor()
			return &connect[A, B, Out]{processor: p, timed: timed[Out]{onTimer: p.OnTimer}}
		},
		Err: needFunc("connect", newProcessor == nil),
	}
}

type connect[A, B, Out any] struct {
	timed[Out]
	processor Processor2[A, B, Out]
}

func (o *connect[A, B, Out]) Open(ctx *Context) error {
	if err := o.open(ctx); err != nil {
		return err
	}
	return o.processor.Open(ctx)
}

func (o *connect[A, B, Out]) ProcessA(ev *stream.Event[A], emit stream.Emit[Out]) error {
	beginEvent(&o.timed, ev, emit)
	return o.processor.ProcessA(&o.c, ev, o.emit)
}

func (o *connect[A, B, Out]) ProcessB(ev *stream.Event[B], emit stream.Emit[Out]) error {
	beginEvent(&o.timed, ev, emit)
	return o.processor.ProcessB(&o.c, ev, o.emit)
}

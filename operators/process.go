package operators

import (
	"errors"

	"github.com/weirstream/weir/stream"
)

// Processor is a user's own keyed operator: with states (NewValue, NewList, ... in Open), side outputs ([Output] in
// Open) and timers. One value serves one subtask and is called from one goroutine. Whatever it remembers outside of a
// state is lost at a restart. An error ends the attempt.
type Processor[In, Out any] interface {
	// Open is called once: here the states are declared.
	Open(*Context) error
	// Process handles one event; states answer for its key. What emit is given gets the event's timestamp, key and headers.
	// ev and emit are valid only during the call.
	Process(c *ProcessContext, ev *stream.Event[In], emit func(Out) error) error
	// OnTimer is called when a timer is due; states answer for the timer's key. What emit is given gets the timer's time as
	// its timestamp, and the key.
	OnTimer(c *ProcessContext, timer Timer, emit func(Out) error) error
}

// Process runs a [Processor] for each subtask.
func Process[In, Out any](newProcessor func() Processor[In, Out]) Spec[In, Out] {
	return Spec[In, Out]{
		Kind:  "process",
		Keyed: true,
		New: func() Operator[In, Out] {
			p := newProcessor()
			return &process[In, Out]{processor: p, timed: timed[Out]{onTimer: p.OnTimer}}
		},
		Err: needFunc("process", newProcessor == nil),
	}
}

type process[In, Out any] struct {
	timed[Out]
	processor Processor[In, Out]
}

func (o *process[In, Out]) Open(ctx *Context) error {
	if err := o.open(ctx); err != nil {
		return err
	}
	return o.processor.Open(ctx)
}

func (o *process[In, Out]) Process(ev *stream.Event[In], emit stream.Emit[Out]) error {
	beginEvent(&o.timed, ev, emit)
	return o.processor.Process(&o.c, ev, o.emit)
}

// ProcessFunc is a [Processor] that is one function, without states and timers.
type ProcessFunc[In, Out any] func(c *ProcessContext, ev *stream.Event[In], emit func(Out) error) error

// Open implements [Processor].
func (ProcessFunc[In, Out]) Open(*Context) error { return nil }

// Process implements [Processor].
func (f ProcessFunc[In, Out]) Process(c *ProcessContext, ev *stream.Event[In], emit func(Out) error) error {
	return f(c, ev, emit)
}

// OnTimer implements [Processor].
func (ProcessFunc[In, Out]) OnTimer(*ProcessContext, Timer, func(Out) error) error {
	return errNoTimers
}

// NoTimers, embedded, is the OnTimer of a [Processor] or [Processor2] that sets no timers.
type NoTimers[Out any] struct{}

// OnTimer implements [Processor].
func (NoTimers[Out]) OnTimer(*ProcessContext, Timer, func(Out) error) error { return errNoTimers }

var errNoTimers = errors.New("a timer is due, but the processor has no OnTimer")

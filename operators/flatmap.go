package operators

import "github.com/weirstream/weir/stream"

// FlatMap turns each value into any number of others: fn calls emit once for each. Timestamp, key and headers stay as
// they are. emit is valid only during the call; an error it returns is to be returned.
func FlatMap[In, Out any](fn func(v In, emit func(Out) error) error) Spec[In, Out] {
	return Spec[In, Out]{
		Kind: "flat_map",
		New:  func() Operator[In, Out] { return &flatMap[In, Out]{fn: fn} },
		Err:  needFunc("flat_map", fn == nil),
	}
}

type flatMap[In, Out any] struct {
	fn   func(In, func(Out) error) error
	emit func(Out) error // made once, so that no event costs a closure
	// in and next are those of the call under way.
	in   *stream.Event[In]
	next stream.Emit[Out]
	out  stream.Event[Out]
}

func (o *flatMap[In, Out]) Open(*Context) error {
	o.emit = func(v Out) error {
		derive(&o.out, o.in, v)
		return o.next(&o.out)
	}
	return nil
}

func (o *flatMap[In, Out]) Process(ev *stream.Event[In], emit stream.Emit[Out]) error {
	o.in, o.next = ev, emit
	return o.fn(ev.Value, o.emit)
}

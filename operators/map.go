package operators

import "github.com/weirstream/weir/stream"

// Map turns each value into one other. Timestamp, key and headers stay as they are.
func Map[In, Out any](fn func(In) (Out, error)) Spec[In, Out] {
	return Spec[In, Out]{
		Kind: "map",
		New:  func() Operator[In, Out] { return &mapping[In, Out]{fn: fn} },
		Err:  needFunc("map", fn == nil),
	}
}

type mapping[In, Out any] struct {
	fn  func(In) (Out, error)
	out stream.Event[Out]
}

func (*mapping[In, Out]) Open(*Context) error { return nil }

func (o *mapping[In, Out]) Process(ev *stream.Event[In], emit stream.Emit[Out]) error {
	v, err := o.fn(ev.Value)
	if err != nil {
		return err
	}
	derive(&o.out, ev, v)
	return emit(&o.out)
}

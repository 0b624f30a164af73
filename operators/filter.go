package operators

import "github.com/weirstream/weir/stream"

// Filter passes on the events whose value keep answers true for, unchanged.
func Filter[T any](keep func(T) bool) Spec[T, T] {
	return Spec[T, T]{
		Kind: "filter",
		New:  func() Operator[T, T] { return &filter[T]{keep} },
		Err:  needFunc("filter", keep == nil),
	}
}

type filter[T any] struct{ keep func(T) bool }

func (*filter[T]) Open(*Context) error { return nil }

func (o *filter[T]) Process(ev *stream.Event[T], emit stream.Emit[T]) error {
	if !o.keep(ev.Value) {
		return nil
	}
	return emit(ev)
}

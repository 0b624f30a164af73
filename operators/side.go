package operators

import (
	"fmt"

	"github.com/weirstream/weir/stream"
)

// Output returns the emit function of a side output; what is emitted goes nowhere if no step reads the tag. It is called
// in Open.
func Output[T any](ctx *Context, tag Tag[T]) stream.Emit[T] {
	if emit := sideOutput(ctx, tag); emit != nil {
		return emit
	}
	return func(*stream.Event[T]) error { return nil }
}

// sideOutput is Output with nil for a tag that nobody reads.
func sideOutput[T any](ctx *Context, tag Tag[T]) stream.Emit[T] {
	if tag.Name == "" || ctx.Side == nil {
		return nil
	}
	switch emit := ctx.Side(tag.Name).(type) {
	case nil:
		return nil
	case stream.Emit[T]:
		return emit
	default:
		return func(*stream.Event[T]) error {
			return fmt.Errorf("side output %q: its tag is a Tag[%T], its reader has another type (%T)", tag.Name, *new(T), emit)
		}
	}
}

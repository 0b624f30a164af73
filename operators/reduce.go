package operators

import "github.com/weirstream/weir/stream"

// Reduce combines the values of each key into one and emits it for every event, with the event's timestamp and headers:
// the first value itself, then fn of the one before and the new one. fn returns a new value and changes nothing that a
// points to: a checkpoint may still be reading it. The state is encoded with the codec, in CBOR if there is none.
func Reduce[T any](fn func(a, b T) T, codec ...Codec[T]) Spec[T, T] {
	return Spec[T, T]{
		Kind:  "reduce",
		Keyed: true,
		New:   func() Operator[T, T] { return &reduce[T]{fn: fn, codec: firstCodec(codec)} },
		Err:   needFunc("reduce", fn == nil),
	}
}

type reduce[T any] struct {
	ttls
	fn    func(a, b T) T
	codec Codec[T]
	ctx   *Context
	state *Value[T]
	out   stream.Event[T]
}

func (o *reduce[T]) Open(ctx *Context) (err error) {
	o.ctx = ctx
	o.state, err = NewValue(ctx, "value", o.codec, o.ttl...)
	return err
}

// Prefetch implements [Prefetcher].
func (o *reduce[T]) Prefetch(events []stream.Event[T]) { prefetch(o.ctx, events) }

func (o *reduce[T]) Process(ev *stream.Event[T], emit stream.Emit[T]) error {
	setKey(o.ctx, ev)
	v, ok, err := o.state.Get()
	if err != nil {
		return err
	}
	if ok {
		v = o.fn(v, ev.Value)
	} else {
		v = ev.Value
	}
	if err := o.state.Put(v); err != nil {
		return err
	}
	derive(&o.out, ev, v)
	return emit(&o.out)
}

func firstCodec[T any](codec []Codec[T]) Codec[T] {
	if len(codec) == 0 {
		return nil
	}
	return codec[0]
}

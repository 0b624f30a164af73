package operators

import "github.com/weirstream/weir/stream"

// KeyCount is a result of [Count].
type KeyCount struct {
	Key   string
	Count int64
}

// Count counts the events of each key and emits the new count for every event, with the event's timestamp and headers.
func Count[T any]() Spec[T, KeyCount] {
	return Spec[T, KeyCount]{
		Kind:  "count",
		Keyed: true,
		New:   func() Operator[T, KeyCount] { return &count[T]{} },
	}
}

type count[T any] struct {
	ttls
	ctx    *Context
	counts *Value[int64]
	out    stream.Event[KeyCount]
}

func (o *count[T]) Open(ctx *Context) (err error) {
	o.ctx = ctx
	o.counts, err = NewValue[int64](ctx, "count", nil, o.ttl...)
	return err
}

// Prefetch implements [Prefetcher].
func (o *count[T]) Prefetch(events []stream.Event[T]) { prefetch(o.ctx, events) }

func (o *count[T]) Process(ev *stream.Event[T], emit stream.Emit[KeyCount]) error {
	setKey(o.ctx, ev)
	n, _, err := o.counts.Get()
	if err != nil {
		return err
	}
	if err := o.counts.Put(n + 1); err != nil {
		return err
	}
	derive(&o.out, ev, KeyCount{Key: o.ctx.Key(), Count: n + 1})
	return emit(&o.out)
}

package operators

import (
	"fmt"

	"github.com/weirstream/weir/stream"
)

// Aggregator describes an aggregation: an accumulator for each key, or each key and window, that takes in one value
// after the other. Its functions change nothing that an accumulator points to (a slice is copied before it is appended
// to): a checkpoint may still be reading it. An error ends the attempt.
type Aggregator[In, Acc, Out any] struct {
	// New makes the accumulator of nothing; nil means the zero value.
	New func() Acc
	// Add takes in a value.
	Add func(acc Acc, v In) (Acc, error)
	// Merge makes one accumulator of two; only session windows need it.
	Merge func(a, b Acc) (Acc, error)
	// Result makes the value to emit.
	Result func(pane Pane, acc Acc) (Out, error)
	// Codec encodes the accumulator; nil means CBOR.
	Codec Codec[Acc]

	// first, if set, replaces Add(New(), v).
	first func(v In) (Acc, error)
}

// Pane is what a result is about: the contents of one window for one key (Flink's word).
type Pane struct {
	Key string
	// Start and End are the window's, in milliseconds since the Unix epoch; it holds Start and not End. Both are 0 if there
	// is no window.
	Start, End int64
}

// Aggregate keeps an accumulator for each key and emits its result for every event, with the event's timestamp and
// headers.
func Aggregate[In, Acc, Out any](agg Aggregator[In, Acc, Out]) Spec[In, Out] {
	return Spec[In, Out]{
		Kind:  "aggregate",
		Keyed: true,
		New:   func() Operator[In, Out] { return &aggregate[In, Acc, Out]{agg: agg} },
		Err:   agg.check("aggregate", false),
	}
}

type aggregate[In, Acc, Out any] struct {
	ttls
	agg   Aggregator[In, Acc, Out]
	ctx   *Context
	state *Value[Acc]
	out   stream.Event[Out]
}

func (o *aggregate[In, Acc, Out]) Open(ctx *Context) (err error) {
	o.ctx = ctx
	o.state, err = NewValue(ctx, "accumulator", o.agg.Codec, o.ttl...)
	return err
}

// Prefetch implements [Prefetcher].
func (o *aggregate[In, Acc, Out]) Prefetch(events []stream.Event[In]) { prefetch(o.ctx, events) }

func (o *aggregate[In, Acc, Out]) Process(ev *stream.Event[In], emit stream.Emit[Out]) error {
	setKey(o.ctx, ev)
	acc, ok, err := o.state.Get()
	if err != nil {
		return err
	}
	if acc, err = o.agg.add(acc, ok, ev.Value); err != nil {
		return err
	}
	if err = o.state.Put(acc); err != nil {
		return err
	}
	v, err := o.agg.Result(Pane{Key: o.ctx.Key()}, acc)
	if err != nil {
		return err
	}
	derive(&o.out, ev, v)
	return emit(&o.out)
}

// add takes v into acc, or into a new accumulator if there is none.
func (a *Aggregator[In, Acc, Out]) add(acc Acc, exists bool, v In) (Acc, error) {
	if !exists {
		if a.first != nil {
			return a.first(v)
		}
		if a.New != nil {
			acc = a.New()
		}
	}
	return a.Add(acc, v)
}

func (a *Aggregator[In, Acc, Out]) check(kind string, merges bool) error {
	switch {
	case a.Add == nil:
		return fmt.Errorf("%s: the aggregator has no Add", kind)
	case a.Result == nil:
		return fmt.Errorf("%s: the aggregator has no Result", kind)
	case merges && a.Merge == nil:
		return fmt.Errorf("%s: the aggregator has no Merge, which session windows need", kind)
	}
	return nil
}

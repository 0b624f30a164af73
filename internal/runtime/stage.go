package runtime

import (
	"unsafe"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// MakeStage opens an operator of one subtask and takes its types off.
func MakeStage[In, Out any](ctx *operators.Context, op operators.Operator[In, Out], out stream.Emit[Out]) (*Stage, error) {
	if err := op.Open(ctx); err != nil {
		return nil, err
	}
	in := stream.Emit[In](func(ev *stream.Event[In]) error { return op.Process(ev, out) })
	s := &Stage{In: []any{in}}
	if p, ok := op.(operators.Prefetcher[In]); ok {
		s.Prefetch = []any{p.Prefetch}
	}
	return finish(s, op, out), nil
}

// MakeStage2 is MakeStage for an operator with two inputs.
func MakeStage2[A, B, Out any](ctx *operators.Context, op operators.Operator2[A, B, Out], out stream.Emit[Out]) (*Stage, error) {
	if err := op.Open(ctx); err != nil {
		return nil, err
	}
	a := stream.Emit[A](func(ev *stream.Event[A]) error { return op.ProcessA(ev, out) })
	b := stream.Emit[B](func(ev *stream.Event[B]) error { return op.ProcessB(ev, out) })
	s := &Stage{In: []any{a, b}}
	if p, ok := op.(operators.Prefetcher2[A, B]); ok {
		s.Prefetch = []any{p.PrefetchA, p.PrefetchB}
	}
	return finish(s, op, out), nil
}

func finish[Out any](s *Stage, op any, out stream.Emit[Out]) *Stage {
	if h, ok := op.(operators.WatermarkHandler[Out]); ok {
		s.OnWatermark = func(wm int64) error { return h.OnWatermark(wm, out) }
	}
	if h, ok := op.(operators.ClockHandler[Out]); ok {
		s.NextClock = h.NextClock
		s.OnClock = func(now int64) error { return h.OnClock(now, out) }
	}
	if g, ok := op.(operators.Generator); ok {
		s.Generator = g
	}
	if p, ok := op.(operators.Punctual); ok {
		s.InTime = p.InTime
	}
	return s
}

// prefetch is the port's, nil if there is none.
func (s *Stage) prefetch(port int) any {
	if port >= len(s.Prefetch) {
		return nil
	}
	return s.Prefetch[port]
}

// keyBy sets the key and the key group of each event.
type keyBy[T any] struct {
	key    func(T) string
	groups int
	out    stream.Event[T]
}

// KeyBy is the operator behind a key_by step.
func KeyBy[T any](key func(T) string) operators.Operator[T, T] { return &keyBy[T]{key: key} }

func (k *keyBy[T]) Open(ctx *operators.Context) error {
	k.groups = ctx.KeyGroups
	return nil
}

func (k *keyBy[T]) Process(ev *stream.Event[T], emit stream.Emit[T]) error {
	k.out = *ev
	key := k.key(ev.Value)
	// The string's bytes are never changed: neither by us, nor by whoever reads Key.
	k.out.Key = unsafe.Slice(unsafe.StringData(key), len(key))
	if k.out.Key == nil {
		k.out.Key = []byte{}
	}
	k.out.Group, k.out.Hash = stream.Locate(k.out.Key, k.groups)
	return emit(&k.out)
}

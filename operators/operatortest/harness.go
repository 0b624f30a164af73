package operatortest

import (
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// Harness drives an operator with one input. Its methods are called from one goroutine. What is wrong with the operator
// fails the test; Send returns it instead.
type Harness[In, Out any] struct {
	*core
	output[Out]
	ops []operators.Operator[In, Out]
}

// New makes and opens an operator. t may be nil, as in an example.
func New[In, Out any](t TB, spec operators.Spec[In, Out], opts ...Option) *Harness[In, Out] {
	return start(t, spec, nil, opts)
}

// Restore makes an operator that goes on from a snapshot.
func Restore[In, Out any](t TB, spec operators.Spec[In, Out], snap *Snapshot, opts ...Option) *Harness[In, Out] {
	return start(t, spec, snap, opts)
}

func start[In, Out any](t TB, spec operators.Spec[In, Out], snap *Snapshot, opts []Option) *Harness[In, Out] {
	h := &Harness[In, Out]{core: newCore(t, snap, newConfig(opts))}
	h.must("spec", spec.Err)
	for _, ctx := range h.ctxs {
		if !spec.Keyed {
			ctx.Store = nil
		}
		op := spec.New()
		h.must("open", op.Open(ctx))
		h.ops = append(h.ops, op)
		attach(h.core, op, h.emit(h.core), snap)
	}
	return h
}

// Process handles one event. It has the key's group, and belongs to split 0.
func (h *Harness[In, Out]) Process(key string, value In, ts int64) {
	h.must("process", h.Send(&stream.Event[In]{Value: value, Timestamp: ts, Key: []byte(key)}))
}

// Send handles one event as it is, but for its key group, and returns the operator's error.
func (h *Harness[In, Out]) Send(ev *stream.Event[In]) error {
	ev.Group, ev.Hash = stream.Locate(ev.Key, stream.DefaultKeyGroups)
	return h.ops[h.instance(ev.Group)].Process(ev, h.emit(h.core))
}

// Harness2 drives an operator with two inputs; see [Harness].
type Harness2[A, B, Out any] struct {
	*core
	output[Out]
	ops []operators.Operator2[A, B, Out]
}

// New2 makes and opens an operator with two inputs.
func New2[A, B, Out any](t TB, spec operators.Spec2[A, B, Out], opts ...Option) *Harness2[A, B, Out] {
	return start2(t, spec, nil, opts)
}

// Restore2 makes an operator with two inputs that goes on from a snapshot.
func Restore2[A, B, Out any](t TB, spec operators.Spec2[A, B, Out], snap *Snapshot, opts ...Option) *Harness2[A, B, Out] {
	return start2(t, spec, snap, opts)
}

func start2[A, B, Out any](t TB, spec operators.Spec2[A, B, Out], snap *Snapshot, opts []Option) *Harness2[A, B, Out] {
	h := &Harness2[A, B, Out]{core: newCore(t, snap, newConfig(opts))}
	h.must("spec", spec.Err)
	for _, ctx := range h.ctxs {
		op := spec.New()
		h.must("open", op.Open(ctx))
		h.ops = append(h.ops, op)
		attach(h.core, op, h.emit(h.core), snap)
	}
	return h
}

// ProcessA handles one event of the first input.
func (h *Harness2[A, B, Out]) ProcessA(key string, value A, ts int64) {
	ev := &stream.Event[A]{Value: value, Timestamp: ts, Key: []byte(key), Group: stream.KeyGroupOf([]byte(key), stream.DefaultKeyGroups)}
	h.must("process", h.ops[h.instance(ev.Group)].ProcessA(ev, h.emit(h.core)))
}

// ProcessB handles one event of the second input.
func (h *Harness2[A, B, Out]) ProcessB(key string, value B, ts int64) {
	ev := &stream.Event[B]{Value: value, Timestamp: ts, Key: []byte(key), Group: stream.KeyGroupOf([]byte(key), stream.DefaultKeyGroups)}
	h.must("process", h.ops[h.instance(ev.Group)].ProcessB(ev, h.emit(h.core)))
}

// output keeps what is emitted.
type output[Out any] struct {
	events []stream.Event[Out]
	fn     stream.Emit[Out]
}

func (o *output[Out]) emit(h *core) stream.Emit[Out] {
	if o.fn == nil {
		o.fn = func(ev *stream.Event[Out]) error {
			o.events = append(o.events, kept(ev))
			h.note("", describe(ev))
			return nil
		}
	}
	return o.fn
}

// Output returns what was emitted since the last call of Output or Values.
func (o *output[Out]) Output() []stream.Event[Out] {
	out := o.events
	o.events = nil
	return out
}

// Values returns the values of what was emitted since the last call of Output or Values.
func (o *output[Out]) Values() []Out {
	var vs []Out
	for _, ev := range o.Output() {
		vs = append(vs, ev.Value)
	}
	return vs
}

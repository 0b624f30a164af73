package job

import (
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// Graph is a job under construction: sources, operators and sinks, each with a name that is the identity of its state.
// It is made by New and filled by From, Via, KeyBy, Connect, Union, Side and To; mistakes are collected and reported
// together by Validate.
type Graph struct {
	name  string
	nodes []*runtime.Node
	sides map[sideKey]bool
	errs  []error
}

type sideKey struct {
	node *runtime.Node
	tag  string
}

// New begins a job. The name is part of transactional IDs, topics and paths: letters, digits, '.', '_' and '-'.
func New(name string) *Graph { return &Graph{name: name, sides: map[sideKey]bool{}} }

// Name is the job's name.
func (g *Graph) Name() string { return g.name }

// Stream is the output of a step: events with values of type T.
type Stream[T any] struct {
	g     *Graph
	node  *runtime.Node
	side  string
	keyed bool
}

// Option changes one step.
type Option func(*runtime.Node)

// Parallelism sets the number of subtasks of one step; the job's is the default.
func Parallelism(n int) Option { return func(node *runtime.Node) { node.Parallelism = n } }

// OnBadRecord sets what happens to a record that a source's decode function refuses, or a result that a sink's encode
// function or the broker refuses: "fail" (the default) stops the job and names the record, "skip" counts it,
// "dead_letter" writes it to topic in the same transaction with where it came from and why in its headers.
func OnBadRecord(policy string, topic string) Option {
	return func(node *runtime.Node) {
		b := runtime.BadRecord{Policy: runtime.Policy(policy), Topic: topic}
		if node.Source != nil {
			node.Source.BadRecord = b
		}
		if node.Sink != nil {
			node.Sink.BadRecord = b
		}
	}
}

// Cluster lets a source read from another Kafka cluster than the job's. Sinks cannot: they share one transaction.
func Cluster(k Kafka) Option {
	return func(node *runtime.Node) {
		if node.Source != nil {
			node.Source.Kafka = &k
		}
	}
}

// From begins a stream with the records of a source. decode makes a value of a record; what it keeps of the record's
// bytes (a string that shares them) it may keep. Its error makes the record a bad record (OnBadRecord). The record is
// valid only during the call.
func From[T any](g *Graph, name string, src source.Spec, decode func(*stream.Record) (T, error), opts ...Option) *Stream[T] {
	node := &runtime.Node{Name: name, Kind: "source", Type: runtime.TypeOf[T](), Source: &runtime.SourceNode{
		Spec: src,
		Decode: func(emit any, refuse runtime.Refuse) func(int32, *stream.Record) error {
			return decoder(decode, emit.(stream.Emit[T]), refuse)
		},
	}}
	g.add(node, src.Validate(), opts)
	return &Stream[T]{g: g, node: node}
}

// Raw is the decode function of a job that takes records as they are.
func Raw(r *stream.Record) (stream.Record, error) { return *r, nil }

// RawOut is the encode function that writes a record's key, value, headers and timestamp as they are.
func RawOut(r stream.Record, out *stream.Record) error {
	out.Key, out.Value, out.Headers, out.Timestamp = r.Key, r.Value, r.Headers, r.Timestamp
	return nil
}

func decoder[T any](decode func(*stream.Record) (T, error), emit stream.Emit[T], refuse runtime.Refuse) func(int32, *stream.Record) error {
	var ev stream.Event[T]
	return func(split int32, r *stream.Record) error {
		v, err := decode(r)
		if err != nil {
			return refuse(r, err)
		}
		ev = stream.Event[T]{Value: v, Timestamp: r.Timestamp, Key: r.Key, Headers: r.Headers, Split: split}
		return emit(&ev)
	}
}

// Via sends a stream through an operator.
func Via[In, Out any](s *Stream[In], name string, op operators.Spec[In, Out], opts ...Option) *Stream[Out] {
	node := &runtime.Node{
		Name: name, Kind: op.Kind, Type: runtime.TypeOf[Out](), Keyed: op.Keyed,
		Inputs: []runtime.Input{s.input()},
		Make: func(ctx *operators.Context, out any) (*runtime.Stage, error) {
			return runtime.MakeStage(ctx, op.New(), out.(stream.Emit[Out]))
		},
	}
	s.g.add(node, op.Err, opts)
	s.g.needs(node, op.Keyed, s.keyed, op.EventTime)
	return &Stream[Out]{g: s.g, node: node}
}

// KeyBy gives each event a key, and sends it to the subtask that owns the key's group. The key is also the key of the
// record that a sink writes, unless its encode function sets another.
func KeyBy[T any](s *Stream[T], name string, key func(T) string, opts ...Option) *Stream[T] {
	node := &runtime.Node{
		Name: name, Kind: "key_by", Type: runtime.TypeOf[T](), Inputs: []runtime.Input{s.input()},
		Make: func(ctx *operators.Context, out any) (*runtime.Stage, error) {
			return runtime.MakeStage(ctx, runtime.KeyBy(key), out.(stream.Emit[T]))
		},
	}
	s.g.add(node, nil, opts)
	return &Stream[T]{g: s.g, node: node, keyed: true}
}

// Union merges streams of one type. Order is kept within each of them, not between them.
func Union[T any](name string, first *Stream[T], rest ...*Stream[T]) *Stream[T] {
	node := &runtime.Node{
		Name: name, Kind: "union", Type: runtime.TypeOf[T](), Inputs: []runtime.Input{first.unkeyed()},
		Make: func(_ *operators.Context, out any) (*runtime.Stage, error) {
			in := make([]any, 1+len(rest))
			for i := range in {
				in[i] = out
			}
			return &runtime.Stage{In: in}, nil
		},
	}
	for _, s := range rest {
		node.Inputs = append(node.Inputs, s.unkeyed())
	}
	first.g.add(node, nil, nil)
	return &Stream[T]{g: first.g, node: node}
}

// Connect sends two keyed streams through one operator, which sees both inputs of a key in one place.
func Connect[A, B, Out any](a *Stream[A], b *Stream[B], name string, op operators.Spec2[A, B, Out], opts ...Option) *Stream[Out] {
	node := &runtime.Node{
		Name: name, Kind: op.Kind, Type: runtime.TypeOf[Out](), Keyed: true,
		Inputs: []runtime.Input{a.input(), b.input()},
		Make: func(ctx *operators.Context, out any) (*runtime.Stage, error) {
			return runtime.MakeStage2(ctx, op.New(), out.(stream.Emit[Out]))
		},
	}
	a.g.add(node, op.Err, opts)
	a.g.needs(node, true, a.keyed && b.keyed, op.EventTime)
	return &Stream[Out]{g: a.g, node: node}
}

// Side is a side output of the step that made s: what its operator emits to the tag.
func Side[T, S any](s *Stream[T], tag operators.Tag[S]) *Stream[S] {
	s.g.sides[sideKey{s.node, tag.Name}] = true
	return &Stream[S]{g: s.g, node: s.node, side: tag.Name}
}

// To ends a stream in a sink. The record that encode is given has the event's key, headers and timestamp, and an empty
// Value that encode may append to; encode sets what it wants, nil for a null. Its error, or a result larger than the topic takes, makes a bad record (OnBadRecord).
func To[T any](s *Stream[T], name string, snk sink.Spec, encode func(T, *stream.Record) error, opts ...Option) {
	node := &runtime.Node{
		Name: name, Kind: "sink", Inputs: []runtime.Input{s.input()},
		Sink: &runtime.SinkNode{
			Spec: snk,
			Encode: func(write func(*stream.Record) error, refuse runtime.Refuse) any {
				return encoder(encode, write, refuse)
			},
		},
	}
	s.g.add(node, snk.Validate(), opts)
}

func encoder[T any](encode func(T, *stream.Record) error, write func(*stream.Record) error, refuse runtime.Refuse) stream.Emit[T] {
	var rec stream.Record
	scratch := make([]byte, 0, 256)
	return func(ev *stream.Event[T]) error {
		rec = stream.Record{Key: ev.Key, Headers: ev.Headers, Timestamp: ev.Timestamp, Value: scratch}
		if err := encode(ev.Value, &rec); err != nil {
			return refuse(&rec, err)
		}
		if n := len(rec.Value); n > cap(scratch) {
			// What encode returned may be somebody else's bytes: the next value gets a buffer of our own.
			scratch = make([]byte, 0, 2*n)
		}
		return write(&rec)
	}
}

func (s *Stream[T]) input() runtime.Input {
	in := runtime.Input{From: s.node, Side: s.side, Type: runtime.TypeOf[T](), Hash: s.keyed}
	return in
}

func (s *Stream[T]) unkeyed() runtime.Input {
	in := s.input()
	in.Hash = false
	return in
}

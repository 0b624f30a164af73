package yamljob

import (
	"fmt"
	"slices"
	"sync"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/stream"
)

func (b *builder) sinks() {
	n := b.f.Sink
	if n == nil || n.AsMapping().Kind != yamlfile.Mapping || len(n.Entries) == 0 {
		pos := b.root.Pos
		if n != nil {
			pos = n.Pos
		}
		b.r.Add(pos, "", "no sink: say under sink what to write, by name")
		return
	}
	for _, e := range n.Entries {
		where := fmt.Sprintf("sink %q", e.Key)
		if old := b.steps[e.Key]; old != nil {
			b.r.Add(e.Pos, where, "%s has this name already: a name is the identity of a step's state", old.where)
		} else if !validName.MatchString(e.Key) {
			b.r.Add(e.Pos, where, "bad name: %s", nameRule)
		}
		b.sink(e, where)
	}
}

func (b *builder) sink(e yamlfile.Entry, where string) {
	n := e.Value
	b.sinkAt[e.Key] = e.Pos
	if i := slices.IndexFunc(n.Entries, func(e yamlfile.Entry) bool { return e.Key == "kafka" }); i >= 0 {
		b.r.Add(n.Entries[i].Pos, where, "kafka: all sinks of a job share its cluster, where its transactions live: only a source may have another")
		n.Entries = slices.Delete(n.Entries, i, i+1)
	}
	var o SinkOptions
	fits := b.decode(n, where, &o)
	opts := b.stepOptions(n, where, fits, o.OnBadRecord, o.DeadLetterTopic, o.Parallelism)
	b.oneOf(n, where, "format", o.Format, formats...)
	b.oneOf(n, where, "timestamps", o.Timestamps, timestamps...)
	spec := sink.Kafka(sink.KafkaOptions{Topic: o.Topic})
	switch topic := n.Get("topic"); {
	case n.Bad() && topic == nil || topic.Bad():
	case o.Topic == "":
		b.r.Add(n.Pos, where, "topic: missing: name the topic to write to")
	default:
		b.r.Invalid(n, where, spec.Validate())
	}
	var in *step
	if o.Input != "" {
		in = b.input(o.Input, n.Get("input").Pos, where)
	} else {
		in = b.following(n, where)
	}
	if in == nil || in.schema == nil {
		return
	}
	enc := &encoder{raw: -1}
	if o.Format == "raw" && in.format != "raw" || in.format == "json" {
		enc.raw = in.schema.Raw()
	}
	if o.Key != nil {
		if enc.key = b.compile(o.Key, where, "key", in.schema); enc.key != nil && enc.key.Kind == row.KindJSON {
			b.r.Add(o.Key.Pos, where, "key: json cannot be a key: use string(...)")
		}
	}
	if o.Format == "raw" {
		at, kind, ok := in.schema.Lookup("value")
		if enc.value = at; in.format == "" && (!ok || kind != row.KindString) {
			b.r.Add(n.Get("format").Pos, where, "format: raw writes the field value, a string, which %s does not have", in.where)
		}
	} else {
		enc.json = row.NewEncoder(in.schema, o.Timestamps == "ms")
	}
	job.To(in.out, e.Key, spec, enc.encode, opts...)
}

// encoder writes rows into records.
type encoder struct {
	json *row.Encoder // nil for raw
	// raw is where rows that nothing has changed have the bytes that were read, which are written then; -1 for never.
	raw   int
	value int // the field that raw writes
	key   *expression.Expr
	// keys holds the arenas of keys: records keep the bytes after encode has returned.
	keys sync.Pool
}

func (e *encoder) encode(r row.Row, rec *stream.Record) error {
	if e.key != nil {
		if err := e.setKey(r, rec); err != nil {
			return err
		}
	}
	switch {
	case e.raw >= 0 && len(r.Values) > e.raw:
		rec.Value = r.Values[e.raw].Bytes()
	case e.json != nil:
		rec.Value = e.json.Append(rec.Value, r)
	default:
		rec.Value = r.Values[e.value].Bytes()
	}
	return nil
}

func (e *encoder) setKey(r row.Row, rec *stream.Record) error {
	v := e.key.Eval(r)
	if v.IsNull() {
		rec.Key = nil
		return nil
	}
	if err := v.Err(); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if _, ok := row.PlainKey(v); ok {
		rec.Key = v.Bytes()
		return nil
	}
	a, _ := e.keys.Get().(*row.Arena)
	if a == nil {
		a = new(row.Arena)
	}
	rec.Key = row.AppendKey(a.Buffer(64), v)
	a.Keep(rec.Key)
	e.keys.Put(a)
	return nil
}

package yamljob

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// eventTime builds a step that takes the event time out of rows.
func (b *builder) eventTime(s, in *step, n *yamlfile.Node, o *EventTimeOptions, opt job.Option) {
	s.timed = true
	if !s.chained {
		b.r.Add(s.pos, s.where, "event_time: it must follow its source without a key_by, aggregate or union between, and with the same parallelism: it needs to see each partition in order")
	}
	if o == nil || o.Field == nil {
		if n.Kind == yamlfile.Mapping {
			b.r.Add(n.Pos, s.where, "event_time: field: missing: name the field that holds the time")
		}
		return
	}
	if o.Bound < 0 {
		b.r.Add(n.Get("bound").Pos, s.where, "event_time.bound: %s is negative", o.Bound)
		return
	}
	if o.MaxDrift < 0 {
		b.r.Add(n.Get("max_drift").Pos, s.where, "event_time.max_drift: %s is negative", o.MaxDrift)
		return
	}
	field := b.compile(o.Field, s.where, "event_time.field", in.schema)
	if field == nil {
		return
	}
	if field.Kind != row.KindTimestamp {
		b.r.Add(o.Field.Pos, s.where, "event_time.field: want a timestamp, got %v: declare the field as a timestamp, or use timestamp(...)", field.Kind)
		return
	}
	if in.decoder != nil && field.Field >= 0 && field.Field < len(in.schema.Fields) {
		in.decoder.Require(field.Field)
	}
	spec := operators.EventTimeMillis(func(r row.Row) int64 { return field.Of(r).Int() }, o.Bound, operators.MaxDrift(o.MaxDrift))
	s.out = job.Via(in.out, s.name, operators.Spec[row.Row, row.Row]{
		Kind: spec.Kind, Err: spec.Err,
		New: func() operators.Operator[row.Row, row.Row] {
			op := spec.New()
			return &eventTime{Operator: op, Generator: op.(operators.Generator), Aligned: op.(operators.Aligned), field: field, locate: located(s.name)}
		},
	}, opt)
}

// eventTime is operators.EventTime that refuses rows without a time.
type eventTime struct {
	operators.Operator[row.Row, row.Row]
	operators.Generator
	operators.Aligned
	field  *expression.Expr
	locate func(error) error
}

var errNoTime = errors.New("it is null: filter such records out before")

func (o *eventTime) Process(ev *stream.Event[row.Row], emit stream.Emit[row.Row]) error {
	if v := o.field.Of(ev.Value); v.Missing() {
		err := v.Err()
		if err == nil {
			err = errNoTime
		}
		return o.locate(fmt.Errorf("event_time: %s: %w", o.field.Text, err))
	}
	return o.Operator.Process(ev, emit)
}

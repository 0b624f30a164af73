package yamljob

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/aggregate"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/operators"
)

// aggregate builds a step that computes aggregates, running ones or in windows.
func (b *builder) aggregate(s, in *step, unknown bool, n *yamlfile.Node, o *OperatorOptions, opt job.Option) {
	s.schema, s.format, s.chained = nil, "", false
	if !unknown && in.key == nil && in.schema != nil {
		b.r.Add(n.KeyPos("aggregate"), s.where, "aggregate: no key: put a key_by right before it (the one before is %s)", in.where)
	}
	fields := append([]row.Field(nil), in.key...)
	keys := len(fields)
	calls, fields, ok := b.calls(s, in, n.Get("aggregate"), fields)
	var names []string
	for _, f := range fields[keys:] {
		names = append(names, f.Name)
	}
	for _, name := range o.Drop {
		if slices.Contains(names, name) {
			b.r.Add(n.KeyPos("drop"), s.where, "drop: %q is among the aggregates: what is dropped is not computed any more", name)
			ok = false
		}
	}
	late := operators.Tag[row.Row]{}
	var windows operators.Assigner
	if w := n.Get("window"); w != nil && o.Window != nil {
		windows, ok = b.windows(s, w, o.Window, ok)
		if !in.timed {
			b.r.Add(n.KeyPos("window"), s.where, "window: no event time: put an event_time before it, right after the source")
		}
		for _, name := range []string{"window_start", "window_end"} {
			ok = b.named(n.KeyPos("window"), s.where, "window", name, fields) && ok
			fields = append(fields, row.Field{Name: name, Kind: row.KindTimestamp})
		}
		late.Name = o.Window.Late
	}
	if ok && in.schema != nil && in.key != nil {
		s.schema = row.NewSchema(fields)
		plan := aggregate.New(calls)
		plan.Locate = located(s.name)
		plan.Name(names, o.Drop)
		build := func() operators.Spec[row.Row, row.Row] {
			a := aggregation{key: in.key, calls: len(calls), ttl: o.TTL, timed: in.timed}
			if o.Window != nil {
				a.windows = &windows
				a.options = operators.WindowOptions[row.Row]{AllowedLateness: o.Window.AllowedLateness, Late: late}
			}
			return a.spec(plan)
		}
		spec := build()
		// Each subtask has an aggregator of its own: it has buffers.
		spec.New = func() operators.Operator[row.Row, row.Row] { return build().New() }
		s.out = job.Via(in.out, s.name, spec, opt)
	}
	if late.Name != "" {
		b.late(s, in, n.Get("window").Get("late"), late)
	}
}

// expiring gives the state of a step a TTL, if it has one.
func expiring(spec operators.Spec[row.Row, row.Row], after time.Duration, timed bool) operators.Spec[row.Row, row.Row] {
	if after <= 0 {
		return spec
	}
	ttl := operators.TTL{After: after, Time: operators.TTLProcessingTime}
	if timed {
		ttl.Time = operators.TTLEventTime
	}
	return operators.WithTTL(spec, ttl)
}

// late makes a side output known as a step of its own.
func (b *builder) late(s, in *step, n *yamlfile.Node, tag operators.Tag[row.Row]) {
	side := &step{name: tag.Name, where: fmt.Sprintf("side output %q of %s", tag.Name, s.where), pos: n.Pos, format: in.format, timed: true, side: true}
	if s.out != nil && s.schema != nil {
		side.schema, side.out = in.schema, job.Side(s.out, tag)
	}
	b.add(side)
}

func (b *builder) calls(s, in *step, n *yamlfile.Node, fields []row.Field) ([]*expression.Call, []row.Field, bool) {
	if n.AsMapping().Kind != yamlfile.Mapping || len(n.Entries) == 0 {
		b.r.Add(n.Pos, s.where, "aggregate: want name: aggregate, as in clicks: count(), got %v", n.Kind)
		return nil, fields, false
	}
	if len(n.Entries) > aggregate.MaxCalls {
		b.r.Add(n.Pos, s.where, "aggregate: %d aggregates: a step can have %d", len(n.Entries), aggregate.MaxCalls)
		return nil, fields, false
	}
	var calls []*expression.Call
	ok := true
	for _, e := range n.Entries {
		ok = b.named(e.Pos, s.where, "aggregate", e.Key, fields) && ok
		if e.Value.Kind != yamlfile.Scalar {
			b.r.Add(e.Value.Pos, s.where, "aggregate.%s: want an aggregate, got %v", e.Key, e.Value.Kind)
			ok = false
			continue
		}
		if in.schema == nil {
			b.expressionErrors(e.Value, s.where, "aggregate."+e.Key, expression.AggregateSyntax(e.Value.Text))
			continue
		}
		c, errs := expression.CompileAggregate(e.Value.Text, in.schema)
		b.expressionErrors(e.Value, s.where, "aggregate."+e.Key, errs)
		if c == nil {
			ok = false
			continue
		}
		calls = append(calls, c)
		fields = append(fields, row.Field{Name: e.Key, Kind: c.ResultKind()})
	}
	return calls, fields, ok
}

// windows makes the windows of a step; ok is passed through.
func (b *builder) windows(s *step, n *yamlfile.Node, o *WindowOptions, ok bool) (operators.Assigner, bool) {
	bad := func(key, format string, args ...any) {
		b.r.Add(n.KeyPos(key), s.where, "window: "+format, args...)
		ok = false
	}
	if !s.fits {
		return operators.Assigner{}, false
	}
	given := 0
	for key, d := range map[string]time.Duration{"tumbling": o.Tumbling, "hopping": o.Hopping, "session": o.Session, "slide": o.Slide, "allowed_lateness": o.AllowedLateness} {
		v := n.Get(key)
		if v == nil || v.Kind != yamlfile.Scalar {
			continue
		}
		if key == "tumbling" || key == "hopping" || key == "session" {
			given++
		}
		switch {
		case key == "allowed_lateness" && d < 0:
			bad(key, "%s: %s is negative", key, v.Text)
		case key != "allowed_lateness" && d <= 0:
			bad(key, "%s: %s is not a positive duration", key, v.Text)
		}
	}
	switch {
	case given != 1:
		bad("", "want one of tumbling, hopping and session, got %d", given)
	case (o.Hopping != 0) != (o.Slide != 0):
		bad("", "hopping and slide go together: {hopping: 1h, slide: 10m}")
	case o.Session != 0 && o.Offset != 0:
		bad("offset", "offset: session windows have none")
	}
	if !ok {
		return operators.Assigner{}, false
	}
	var w operators.Assigner
	switch {
	case o.Tumbling != 0:
		w = operators.Tumbling(o.Tumbling)
	case o.Hopping != 0:
		w = operators.Hopping(o.Hopping, o.Slide)
	default:
		w = operators.Session(o.Session)
	}
	if o.Offset != 0 {
		w = w.WithOffset(o.Offset)
	}
	return w, true
}

package yamljob

import (
	"fmt"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// filter builds a step that passes on the rows for which a condition is true; null drops a row, as false does.
func (b *builder) filter(s, in *step, n *yamlfile.Node, opt job.Option) {
	cond := b.compile(n, s.where, "filter", in.schema)
	if cond == nil {
		return
	}
	if cond.Kind != row.KindBool {
		b.r.Add(n.Pos, s.where, "filter: want a condition, got an expression of type %v", cond.Kind)
		return
	}
	s.out = job.Via(in.out, s.name, operators.Spec[row.Row, row.Row]{
		Kind: "filter",
		New:  func() operators.Operator[row.Row, row.Row] { return &filter{cond.Eval, located(s.name)} },
	}, opt)
}

// filter is operators.Filter with a condition that may fail.
type filter struct {
	cond   expression.Eval
	locate func(error) error
}

func (*filter) Open(*operators.Context) error { return nil }

func (o *filter) Process(ev *stream.Event[row.Row], emit stream.Emit[row.Row]) error {
	switch v := o.cond(ev.Value); v.Kind() {
	case row.KindBool:
		if v.Bool() {
			return emit(ev)
		}
	case row.KindFailed:
		return o.locate(fmt.Errorf("filter: %w", v.Err()))
	}
	return nil
}

package yamljob

import (
	"fmt"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/operators"
)

// mapping builds a step that makes a new row of expressions.
func (b *builder) mapping(s, in *step, n *yamlfile.Node, opt job.Option) {
	s.schema, s.format = nil, ""
	exprs, fields, ok := b.projection(s, in, n, "map")
	if !ok {
		return
	}
	s.schema = row.NewSchema(fields)
	s.out = job.Via(in.out, s.name, operators.Spec[row.Row, row.Row]{
		Kind: "map",
		New: func() operators.Operator[row.Row, row.Row] {
			p := &projector{exprs: exprs, fields: fields, locate: located(s.name)}
			return operators.Map(p.project).New()
		},
	}, opt)
}

// projection compiles a mapping of names to expressions.
func (b *builder) projection(s, in *step, n *yamlfile.Node, key string) (exprs []*expression.Expr, fields []row.Field, ok bool) {
	if n.AsMapping().Kind != yamlfile.Mapping || len(n.Entries) == 0 {
		b.r.Add(n.Pos, s.where, "%s: want name: expression, got %v", key, n.Kind)
		return nil, nil, false
	}
	ok = in.schema != nil
	for _, e := range n.Entries {
		x := b.compile(e.Value, s.where, key+"."+e.Key, in.schema)
		ok = b.named(e.Pos, s.where, key, e.Key, fields) && x != nil && ok
		if x == nil {
			continue
		}
		if x.Kind == row.KindNull {
			b.r.Add(e.Value.Pos, s.where, "%s.%s: nil alone has no type: write for example int(nil)", key, e.Key)
			ok = false
		}
		exprs = append(exprs, x)
		fields = append(fields, row.Field{Name: e.Key, Kind: x.Kind})
	}
	return exprs, fields, ok
}

// projector makes new rows in one subtask.
type projector struct {
	exprs  []*expression.Expr
	fields []row.Field
	locate func(error) error
	arena  row.Arena
}

func (p *projector) project(r row.Row) (row.Row, error) {
	out := p.arena.Row(len(p.exprs))
	for i, x := range p.exprs {
		v := x.Of(r)
		if err := v.Err(); err != nil {
			return row.Row{}, p.locate(fmt.Errorf("map.%s: %w", p.fields[i].Name, err))
		}
		out.Values[i] = v
	}
	return out, nil
}

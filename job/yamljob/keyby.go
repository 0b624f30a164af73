package yamljob

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
)

// keyBy builds a step that gives rows a key.
func (b *builder) keyBy(s, in *step, n *yamlfile.Node, opt job.Option) {
	s.chained = false
	exprs, fields, ok := b.keyFields(s, in, n)
	if !ok {
		s.schema = nil
		return
	}
	s.key = fields
	s.out = job.KeyBy(in.out, s.name, (&keyer{exprs: exprs}).key, opt, described(exprs))
}

// described tells the engine what the key is, so that state of other keys is not taken for this one's. What a field is called does
// not count for a key, so the names of expressions are left out; white space in them is no difference either.
func described(exprs []*expression.Expr) job.Option {
	var parts []string
	for _, x := range exprs {
		parts = append(parts, strings.Join(strings.Fields(x.Text), " ")+" "+x.Kind.String())
	}
	return func(node *runtime.Node) { node.Keys = strings.Join(parts, ", ") }
}

// keyFields compiles what a key consists of: a field, a list of fields, or expressions by name.
func (b *builder) keyFields(s, in *step, n *yamlfile.Node) (exprs []*expression.Expr, fields []row.Field, ok bool) {
	ok = in.schema != nil
	nodes := []*yamlfile.Node{}
	if n.AsMapping().Kind == yamlfile.Mapping {
		if exprs, fields, ok = b.projection(s, in, n, "key_by"); !ok {
			return nil, nil, false
		}
		for _, e := range n.Entries {
			nodes = append(nodes, e.Value)
		}
	} else {
		if n.AsList().Kind != yamlfile.Sequence || len(n.Items) == 0 {
			b.r.Add(n.Pos, s.where, "key_by: want a field or a list of fields, got %v", n.Kind)
			return nil, nil, false
		}
		for _, item := range n.Items {
			x := b.compile(item, s.where, "key_by", in.schema)
			if x == nil {
				ok = false
				continue
			}
			if x.Field < 0 || x.Field >= len(in.schema.Fields) {
				b.r.Add(item.Pos, s.where, "key_by: an expression needs a name: key_by: {name: %s}", item.Text)
				ok = false
				continue
			}
			ok = b.keyNamed(s, item, fields) && ok
			exprs, fields, nodes = append(exprs, x), append(fields, row.Field{Name: in.schema.Fields[x.Field].Name, Kind: x.Kind}), append(nodes, item)
		}
	}
	for i, x := range exprs {
		switch {
		case x.Kind == row.KindJSON:
			b.r.Add(nodes[i].Pos, s.where, "key_by: json cannot be a key: use string(...), int(...) or the like")
			ok = false
		case x.MayFail:
			b.r.Add(nodes[i].Pos, s.where, "key_by: calculating with ints may overflow: do it in a map step before")
			ok = false
		}
	}
	return exprs, fields, ok
}

func (b *builder) keyNamed(s *step, item *yamlfile.Node, fields []row.Field) bool {
	for _, f := range fields {
		if f.Name == item.Text {
			b.r.Add(item.Pos, s.where, "key_by: %q is listed twice", item.Text)
			return false
		}
	}
	return true
}

// keyer encodes keys, for all subtasks of a step. A key of one string costs nothing: it shares the string's bytes.
type keyer struct {
	exprs []*expression.Expr
	pool  sync.Pool
}

type keyBuffer struct {
	arena  row.Arena
	values []row.Value
}

func (k *keyer) key(r row.Row) string {
	if len(k.exprs) == 1 {
		if s, ok := row.PlainKey(k.exprs[0].Of(r)); ok {
			return s
		}
	}
	buf, _ := k.pool.Get().(*keyBuffer)
	if buf == nil {
		buf = &keyBuffer{values: make([]row.Value, len(k.exprs))}
	}
	for i, x := range k.exprs {
		buf.values[i] = x.Of(r)
	}
	key := row.AppendKey(buf.arena.Buffer(64), buf.values...)
	buf.arena.Keep(key)
	k.pool.Put(buf)
	return unsafe.String(unsafe.SliceData(key), len(key))
}

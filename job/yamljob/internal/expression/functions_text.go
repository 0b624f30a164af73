package expression

import (
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"github.com/weirstream/weir/job/yamljob/internal/row"
)

func init() {
	text := func(f func(string) string) form {
		return one(row.KindString, row.KindString, func(a row.Value) row.Value { return row.String(f(a.Str())) })
	}
	text2 := func(f func(s, t string) string) form {
		return two(row.KindString, row.KindString, row.KindString, func(a, b row.Value) row.Value {
			return row.String(f(a.Str(), b.Str()))
		})
	}
	define("lower", text(strings.ToLower))
	define("upper", text(strings.ToUpper))
	define("trim", text(strings.TrimSpace))
	define("trimPrefix", text2(strings.TrimPrefix))
	define("trimSuffix", text2(strings.TrimSuffix))
	define("replace", form{
		params: []row.Kind{row.KindString, row.KindString, row.KindString}, result: row.KindString,
		f3: func(a, b, c row.Value) row.Value { return row.String(strings.ReplaceAll(a.Str(), b.Str(), c.Str())) }})
	define("len", one(row.KindString, row.KindInt, func(a row.Value) row.Value {
		return row.Int(int64(utf8.RuneCountInString(a.Str())))
	}))
	written := func(kind row.Kind) form {
		return one(kind, row.KindString, func(a row.Value) row.Value { return row.String(string(row.AppendKey(nil, a))) })
	}
	define("string",
		one(row.KindString, row.KindString, func(a row.Value) row.Value { return a }),
		written(row.KindInt), written(row.KindBool), written(row.KindTimestamp),
		one(row.KindFloat, row.KindString, func(a row.Value) row.Value { return row.String(string(row.AppendValue(nil, a))) }),
		one(row.KindJSON, row.KindString, func(a row.Value) row.Value { return row.String(row.Text(a.Str())) }))
}

// member compiles $env["any name"], and the members and elements of json.
func (c *compiler) member(n *ast.MemberNode) node {
	if id, ok := n.Node.(*ast.IdentifierNode); ok && id.Value == "$env" {
		if name, ok := n.Property.(*ast.StringNode); ok {
			return c.identifier(n.Property, name.Value)
		}
		return c.fail(n, `$env wants a name, as in $env["user-id"]`)
	}
	x, p := c.compile(n.Node), c.compile(n.Property)
	switch {
	case x.bad || p.bad:
		return bad
	case x.kind != row.KindJSON:
		return c.fail(n, "%v has no members: only json has", x.kind)
	case p.kind == row.KindString && p.constant:
		name := p.value.Str()
		return node{kind: row.KindJSON, eval: lift1(x.eval, func(a row.Value) row.Value { return row.Member(a.Str(), name) })}
	case p.kind == row.KindInt:
		return node{kind: row.KindJSON, eval: lift2(x.eval, p.eval, func(a, b row.Value) row.Value {
			return row.Element(a.Str(), b.Int())
		})}
	}
	return c.fail(n.Property, "a member is named by a constant string or an int")
}

// slice compiles s[from:to], which counts characters; a negative number counts from the end.
func (c *compiler) slice(n *ast.SliceNode) node {
	x, from, to := c.compile(n.Node), constant(row.Int(0)), constant(row.Int(1<<62))
	if n.From != nil {
		from = c.compile(n.From)
	}
	if n.To != nil {
		to = c.compile(n.To)
	}
	if x.bad || from.bad || to.bad {
		return bad
	}
	if x.kind != row.KindString || from.kind != row.KindInt || to.kind != row.KindInt {
		return c.fail(n, "[from:to] wants a string and ints, got %v[%v:%v]", x.kind, from.kind, to.kind)
	}
	return c.apply(&ast.CallNode{}, form{result: row.KindString, f3: substring}, []node{x, from, to})
}

func substring(a, from, to row.Value) row.Value {
	s := a.Str()
	n := int64(utf8.RuneCountInString(s))
	place := func(i int64) int64 {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	low, high := place(from.Int()), place(to.Int())
	if low >= high {
		return row.String("")
	}
	begin, end, count := 0, len(s), int64(0)
	for i := range s {
		if count == low {
			begin = i
		}
		if count == high {
			end = i
			break
		}
		count++
	}
	return row.String(s[begin:end])
}

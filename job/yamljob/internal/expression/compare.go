package expression

import (
	"cmp"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/weirstream/weir/job/yamljob/internal/row"
)

func (c *compiler) binary(n *ast.BinaryNode) node {
	if n.Operator == "in" {
		return c.in(n)
	}
	x, y := c.compile(n.Left), c.compile(n.Right)
	if x.bad || y.bad {
		return bad
	}
	switch n.Operator {
	case "and", "&&", "or", "||":
		return c.logic(n, x, y)
	case "??":
		return c.coalesce(n, x, y)
	case "==", "!=":
		return c.equality(n, x, y)
	case "<", "<=", ">", ">=":
		x, y = c.comparable(n, x, y)
		if x.bad {
			return bad
		}
		return c.compare(n, n.Operator, x, y)
	case "+", "-", "*", "/", "%", "**", "^":
		return c.arithmetic(n, x, y)
	case "contains", "startsWith", "endsWith":
		return c.textTest(n, x, y)
	case "matches":
		return c.matches(n, x, y)
	case "..":
		return c.fail(n, "a range stands only after in")
	}
	return c.fail(n, "operator %s is not part of the language", n.Operator)
}

// comparable brings two nodes to one kind: numbers to float, the text of a time to a timestamp.
func (c *compiler) comparable(n *ast.BinaryNode, x, y node) (node, node) {
	x, y = c.asTime(n.Left, x, y), c.asTime(n.Right, y, x)
	if x.bad || y.bad {
		return bad, bad
	}
	if isNumber(x.kind) && isNumber(y.kind) && x.kind != y.kind {
		return c.toFloat(n, x), c.toFloat(n, y)
	}
	if x.kind != y.kind {
		hint := ""
		if x.kind == row.KindJSON || y.kind == row.KindJSON {
			hint = ": turn the json into a type first: string(...), int(...), float(...), bool(...)"
		}
		c.fail(n, "%v %s %v: the types differ%s", x.kind, n.Operator, y.kind, hint)
		return bad, bad
	}
	return x, y
}

// asTime reads a text as a time if it is compared with one.
func (c *compiler) asTime(at ast.Node, n, other node) node {
	if other.kind != row.KindTimestamp || n.kind != row.KindString || !n.constant {
		return n
	}
	t, err := time.Parse(time.RFC3339, n.value.Str())
	if err != nil {
		return c.fail(at, "%q is not a time: want RFC 3339, such as 2013-01-01T00:00:00Z", n.value.Str())
	}
	return constant(row.Timestamp(t.UnixMilli()))
}

func (c *compiler) equality(n *ast.BinaryNode, x, y node) node {
	not := n.Operator == "!="
	if x.kind == row.KindNull {
		x, y = y, x
	}
	if y.kind == row.KindNull {
		return c.fold(n, row.KindBool, func(r row.Row) row.Value {
			v := x.eval(r)
			if v.Kind() == row.KindFailed {
				return v
			}
			return row.Bool(v.IsNull() != not)
		}, x)
	}
	if x, y = c.comparable(n, x, y); x.bad {
		return bad
	}
	if x.kind == row.KindString {
		if y.constant && x.isField {
			return fieldIs(x.field, y.value.Str(), not)
		}
		return c.fold(n, row.KindBool, lift2(x.eval, y.eval, func(a, b row.Value) row.Value {
			return row.Bool((a.Str() == b.Str()) != not)
		}), x, y)
	}
	if x.kind == row.KindJSON {
		return c.fail(n, "json can be compared with nil only: turn it into a type first: string(...), int(...), float(...), bool(...)")
	}
	return c.fold(n, row.KindBool, lift2(x.eval, y.eval, func(a, b row.Value) row.Value {
		return row.Bool(a.Equal(b) != not)
	}), x, y)
}

// fieldIs is the comparison that filters consist of: a field and a text.
func fieldIs(field int, text string, not bool) node {
	return node{kind: row.KindBool, eval: func(r row.Row) row.Value {
		v := r.Values[field]
		if v.IsNull() {
			return row.Null
		}
		return row.Bool((v.Str() == text) != not)
	}}
}

func (c *compiler) compare(n ast.Node, op string, x, y node) node {
	var order op2
	switch x.kind {
	case row.KindInt, row.KindTimestamp:
		order = ordered(op, row.Value.Int)
	case row.KindFloat:
		order = ordered(op, row.Value.Float)
	case row.KindString:
		order = ordered(op, row.Value.Str)
	default:
		return c.fail(n, "%s does not compare %v", op, x.kind)
	}
	return c.fold(n, row.KindBool, lift2(x.eval, y.eval, order), x, y)
}

func ordered[T cmp.Ordered](op string, get func(row.Value) T) op2 {
	switch op {
	case "<":
		return func(a, b row.Value) row.Value { return row.Bool(get(a) < get(b)) }
	case "<=":
		return func(a, b row.Value) row.Value { return row.Bool(get(a) <= get(b)) }
	case ">":
		return func(a, b row.Value) row.Value { return row.Bool(get(a) > get(b)) }
	}
	return func(a, b row.Value) row.Value { return row.Bool(get(a) >= get(b)) }
}

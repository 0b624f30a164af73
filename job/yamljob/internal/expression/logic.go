package expression

import (
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/weirstream/weir/job/yamljob/internal/row"
)

// logic compiles and, or: three-valued, and the right side is not computed when the left one decides.
func (c *compiler) logic(n *ast.BinaryNode, x, y node) node {
	if x.kind != row.KindBool || y.kind != row.KindBool {
		return c.fail(n, "%s wants bools, got %v and %v", n.Operator, x.kind, y.kind)
	}
	decisive := n.Operator == "or" || n.Operator == "||"
	l, r := x.eval, y.eval
	return c.fold(n, row.KindBool, func(rec row.Row) row.Value {
		a := l(rec)
		if a.Kind() == row.KindFailed || !a.IsNull() && a.Bool() == decisive {
			return a
		}
		b := r(rec)
		if a.IsNull() && !b.Missing() && b.Bool() != decisive {
			return a
		}
		return b
	}, x, y)
}

// unify brings two alternatives to one kind.
func (c *compiler) unify(at ast.Node, x, y node) (node, node) {
	switch {
	case x.kind == y.kind:
	case x.kind == row.KindNull:
		x.kind = y.kind
	case y.kind == row.KindNull:
		y.kind = x.kind
	case isNumber(x.kind) && isNumber(y.kind):
		return c.toFloat(at, x), c.toFloat(at, y)
	default:
		c.fail(at, "the two outcomes have different types: %v and %v", x.kind, y.kind)
		return bad, bad
	}
	return x, y
}

func (c *compiler) coalesce(at ast.Node, x, y node) node {
	if x, y = c.unify(at, x, y); x.bad {
		return bad
	}
	l, r := x.eval, y.eval
	return c.fold(at, x.kind, func(rec row.Row) row.Value {
		if v := l(rec); !v.IsNull() {
			return v
		}
		return r(rec)
	}, x, y)
}

// conditional compiles a ? b : c. A condition that is null counts as false.
func (c *compiler) conditional(n *ast.ConditionalNode) node {
	cond, x, y := c.compile(n.Cond), c.compile(n.Exp1), c.compile(n.Exp2)
	if cond.bad || x.bad || y.bad {
		return bad
	}
	if cond.kind != row.KindBool {
		return c.fail(n.Cond, "a condition wants a bool, got %v", cond.kind)
	}
	if x, y = c.unify(n.Cond, x, y); x.bad {
		return bad
	}
	return c.fold(n.Cond, x.kind, func(r row.Row) row.Value {
		switch v := cond.eval(r); {
		case v.Kind() == row.KindFailed:
			return v
		case !v.IsNull() && v.Bool():
			return x.eval(r)
		}
		return y.eval(r)
	}, cond, x, y)
}

// in compiles x in [a, b, c] and x in low..high.
func (c *compiler) in(n *ast.BinaryNode) node {
	x := c.compile(n.Left)
	if span, ok := n.Right.(*ast.BinaryNode); ok && span.Operator == ".." {
		low, high := c.compile(span.Left), c.compile(span.Right)
		if x.bad || low.bad || high.bad {
			return bad
		}
		if x.kind != row.KindInt || low.kind != row.KindInt || high.kind != row.KindInt {
			return c.fail(n, "in with a range wants ints, got %v in %v..%v", x.kind, low.kind, high.kind)
		}
		return c.logic(&ast.BinaryNode{Operator: "and"}, c.compare(n, ">=", x, low), c.compare(n, "<=", x, high))
	}
	list, ok := n.Right.(*ast.ArrayNode)
	if !ok {
		return c.fail(n.Right, "in wants a list, as in x in [1, 2], or a range, as in x in 1..9")
	}
	if len(list.Nodes) == 0 {
		return c.fail(list, "the list is empty")
	}
	var found node // the tests so far, joined by or
	texts := map[string]bool{}
	for i, e := range list.Nodes {
		y := c.compile(e)
		switch {
		case x.bad || y.bad:
			found = bad
			continue
		case y.kind == row.KindNull:
			found = c.fail(e, "nil in a list: use == nil besides")
			continue
		case y.constant && y.kind == row.KindString:
			texts[y.value.Str()] = true
		}
		is := &ast.BinaryNode{Operator: "==", Left: n.Left, Right: e}
		is.SetLocation(e.Location())
		test := c.equality(is, x, y)
		switch {
		case test.bad || found.bad:
			found = bad
		case i == 0:
			found = test
		default:
			found = c.logic(&ast.BinaryNode{Operator: "or"}, found, test)
		}
	}
	if found.bad || x.kind != row.KindString || len(texts) < len(list.Nodes) {
		return found
	}
	return c.fold(n, row.KindBool, lift1(x.eval, func(a row.Value) row.Value { return row.Bool(texts[a.Str()]) }), x)
}

func (c *compiler) textTest(n *ast.BinaryNode, x, y node) node {
	if x.kind != row.KindString || y.kind != row.KindString {
		return c.fail(n, "%s wants strings, got %v and %v", n.Operator, x.kind, y.kind)
	}
	test := map[string]func(s, t string) bool{
		"contains": strings.Contains, "startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix}[n.Operator]
	return c.fold(n, row.KindBool, lift2(x.eval, y.eval, func(a, b row.Value) row.Value {
		return row.Bool(test(a.Str(), b.Str()))
	}), x, y)
}

func (c *compiler) matches(n *ast.BinaryNode, x, y node) node {
	if x.kind != row.KindString || y.kind != row.KindString || !y.constant {
		return c.fail(n, "matches wants a string and a pattern that is a constant")
	}
	re, err := regexp.Compile(y.value.Str())
	if err != nil {
		return c.fail(n.Right, "%v", err)
	}
	return c.fold(n, row.KindBool, lift1(x.eval, func(a row.Value) row.Value { return row.Bool(re.MatchString(a.Str())) }), x)
}

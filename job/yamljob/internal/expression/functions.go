package expression

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/weirstream/weir/job/yamljob/internal/row"
)

// form is one way to call a function: the kinds it takes, the kind it gives, and what it does. Exactly one of the
// functions is set, by the number of arguments.
type form struct {
	params []row.Kind
	result row.Kind
	f1     op1
	f2     op2
	f3     func(a, b, c row.Value) row.Value
	// constantArg is the argument (from 1) that must be a constant; make then makes the operation on the others of it.
	constantArg int
	make        func(v row.Value) (op1, error)
}

func one(param, result row.Kind, f op1) form {
	return form{params: []row.Kind{param}, result: result, f1: f}
}

func two(a, b, result row.Kind, f op2) form {
	return form{params: []row.Kind{a, b}, result: result, f2: f}
}

// functions are the functions of the language. An int is taken where a float is wanted.
var functions = map[string][]form{}

func define(name string, forms ...form) { functions[name] = append(functions[name], forms...) }

// FunctionNames lists the functions in order.
func FunctionNames() []string { return slices.Sorted(maps.Keys(functions)) }

func (c *compiler) call(n *ast.CallNode) node {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return c.fail(n, "this construct is not part of the language: write function(value)")
	}
	args, kinds, anyBad := make([]node, len(n.Arguments)), make([]row.Kind, len(n.Arguments)), false
	for i, a := range n.Arguments {
		args[i] = c.compile(a)
		kinds[i] = args[i].kind
		anyBad = anyBad || args[i].bad
	}
	if callee.Value == "coalesce" && len(args) > 0 && !anyBad {
		result := args[len(args)-1]
		for i := len(args) - 2; i >= 0 && !result.bad; i-- {
			result = c.coalesce(n.Arguments[i], args[i], result)
		}
		return result
	}
	if !c.known(callee) || anyBad {
		return bad
	}
	forms := functions[callee.Value]
	c.mayFail = c.mayFail || callee.Value == "abs"
	for _, f := range forms {
		if c.fits(n, f, args) {
			return c.apply(n, f, args)
		}
	}
	return c.fail(callee, "%s%s: there is only %s", callee.Value, list(kinds), signatures(callee.Value, forms))
}

// fits reports whether a form takes the arguments, and turns ints into floats for it.
func (c *compiler) fits(n *ast.CallNode, f form, args []node) bool {
	if len(f.params) != len(args) {
		return false
	}
	for i, p := range f.params {
		if k := args[i].kind; k != p && k != row.KindNull && !(k == row.KindInt && p == row.KindFloat) {
			return false
		}
	}
	for i, p := range f.params {
		if p == row.KindFloat {
			args[i] = c.toFloat(n.Arguments[i], args[i])
		}
	}
	return true
}

func (c *compiler) apply(n *ast.CallNode, f form, args []node) node {
	if f.constantArg > 0 {
		at := f.constantArg - 1
		if !args[at].constant || args[at].value.IsNull() {
			return c.fail(n.Arguments[at], "this argument must be a constant")
		}
		op, err := f.make(args[at].value)
		if err != nil {
			return c.fail(n.Arguments[at], "%v", err)
		}
		if len(args) == 1 {
			return constant(op(args[0].value))
		}
		return c.fold(n, f.result, lift1(args[1-at].eval, op), args[1-at])
	}
	switch {
	case f.f1 != nil:
		return c.fold(n, f.result, lift1(args[0].eval, f.f1), args...)
	case f.f2 != nil:
		return c.fold(n, f.result, lift2(args[0].eval, args[1].eval, f.f2), args...)
	}
	third := args[2].eval
	return c.fold(n, f.result, func(r row.Row) row.Value {
		a, b, d := args[0].eval(r), args[1].eval(r), third(r)
		for _, v := range [...]row.Value{a, b, d} {
			if v.Missing() {
				return v
			}
		}
		return f.f3(a, b, d)
	}, args...)
}

func list(kinds []row.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return "(" + strings.Join(names, ", ") + ")"
}

func signatures(name string, forms []form) string {
	s := make([]string, len(forms))
	for i, f := range forms {
		s[i] = name + list(f.params)
	}
	return strings.Join(s, ", ")
}

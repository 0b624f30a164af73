package expression

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/expr-lang/expr/ast"

	"github.com/weirstream/weir/job/yamljob/internal/row"
)

type op1 = func(row.Value) row.Value
type op2 = func(a, b row.Value) row.Value

// lift1 and lift2 make an operation on values one on rows: what is missing stays missing.
func lift1(x Eval, op op1) Eval {
	return func(r row.Row) row.Value {
		a := x(r)
		if a.Missing() {
			return a
		}
		return op(a)
	}
}

func lift2(x, y Eval, op op2) Eval {
	return func(r row.Row) row.Value {
		a := x(r)
		if a.Missing() {
			return a
		}
		b := y(r)
		if b.Missing() {
			return b
		}
		return op(a, b)
	}
}

// overflow makes the outcome of an integer operation that has no int64.
func (c *compiler) overflow(at ast.Node) row.Value {
	c.mayFail = true
	err := fmt.Errorf("%s: integer overflow", at)
	return row.Failed(&err)
}

func (c *compiler) unary(n *ast.UnaryNode) node {
	x := c.compile(n.Node)
	if x.bad {
		return bad
	}
	switch n.Operator {
	case "!", "not":
		if x.kind != row.KindBool {
			return c.fail(n, "%s wants a bool, got %v", n.Operator, x.kind)
		}
		return c.fold(n, row.KindBool, lift1(x.eval, func(a row.Value) row.Value { return row.Bool(!a.Bool()) }), x)
	case "+", "-":
		if x.kind != row.KindInt && x.kind != row.KindFloat {
			return c.fail(n, "%s wants a number, got %v", n.Operator, x.kind)
		}
		if n.Operator == "+" {
			return x
		}
		if x.kind == row.KindFloat {
			return c.fold(n, x.kind, lift1(x.eval, func(a row.Value) row.Value { return row.Float(-a.Float()) }), x)
		}
		failed := c.overflow(n)
		return c.fold(n, x.kind, lift1(x.eval, func(a row.Value) row.Value {
			if a.Int() == math.MinInt64 {
				return failed
			}
			return row.Int(-a.Int())
		}), x)
	}
	return c.fail(n, "operator %s is not part of the language", n.Operator)
}

func isNumber(k row.Kind) bool { return k == row.KindInt || k == row.KindFloat }

// toFloat makes a float of an int node.
func (c *compiler) toFloat(at ast.Node, n node) node {
	if n.kind != row.KindInt {
		return n
	}
	return c.fold(at, row.KindFloat, lift1(n.eval, func(a row.Value) row.Value { return row.Float(float64(a.Int())) }), n)
}

// arithmetic compiles + - * / % ** ^.
func (c *compiler) arithmetic(n *ast.BinaryNode, x, y node) node {
	op := n.Operator
	switch {
	case op == "+" && x.kind == row.KindString && y.kind == row.KindString:
		return c.fold(n, row.KindString, lift2(x.eval, y.eval, func(a, b row.Value) row.Value {
			return row.String(a.Str() + b.Str())
		}), x, y)
	case op == "+" && (x.kind == row.KindString || y.kind == row.KindString):
		return c.fail(n, "%v + %v: use string(...) to join text", x.kind, y.kind)
	case x.kind == row.KindTimestamp || y.kind == row.KindTimestamp:
		return c.timeArithmetic(n, x, y)
	case !isNumber(x.kind) || !isNumber(y.kind):
		return c.fail(n, "%s wants numbers, got %v and %v", op, x.kind, y.kind)
	case op == "/" || op == "**" || op == "^" || x.kind == row.KindFloat || y.kind == row.KindFloat:
		if op == "%" {
			return c.fail(n, "%% wants integers, got %v and %v", x.kind, y.kind)
		}
		x, y = c.toFloat(n, x), c.toFloat(n, y)
		return c.fold(n, row.KindFloat, lift2(x.eval, y.eval, floatOps[op]), x, y)
	}
	return c.fold(n, row.KindInt, lift2(x.eval, y.eval, intOp(op, c.overflow(n))), x, y)
}

var floatOps = map[string]op2{
	"+":  func(a, b row.Value) row.Value { return row.Float(a.Float() + b.Float()) },
	"-":  func(a, b row.Value) row.Value { return row.Float(a.Float() - b.Float()) },
	"*":  func(a, b row.Value) row.Value { return row.Float(a.Float() * b.Float()) },
	"**": func(a, b row.Value) row.Value { return row.Float(math.Pow(a.Float(), b.Float())) },
	"^":  func(a, b row.Value) row.Value { return row.Float(math.Pow(a.Float(), b.Float())) },
	"/": func(a, b row.Value) row.Value {
		if b.Float() == 0 {
			return row.Null
		}
		return row.Float(a.Float() / b.Float())
	},
}

// intOp returns an operation on int64; failed is what an overflow gives.
func intOp(op string, failed row.Value) op2 {
	switch op {
	case "+":
		return func(a, b row.Value) row.Value {
			x, y := a.Int(), b.Int()
			if s := x + y; (s > x) == (y > 0) {
				return row.Int(s)
			}
			return failed
		}
	case "-":
		return func(a, b row.Value) row.Value {
			x, y := a.Int(), b.Int()
			if d := x - y; (d < x) == (y > 0) {
				return row.Int(d)
			}
			return failed
		}
	case "*":
		return func(a, b row.Value) row.Value {
			if p, ok := mul(a.Int(), b.Int()); ok {
				return row.Int(p)
			}
			return failed
		}
	}
	return func(a, b row.Value) row.Value { // %, the sign is that of a
		if b.Int() == 0 {
			return row.Null
		}
		if b.Int() == -1 {
			return row.Int(0)
		}
		return row.Int(a.Int() % b.Int())
	}
}

// mul multiplies; ok is false if the product is no int64.
func mul(x, y int64) (p int64, ok bool) {
	high, low := bits.Mul64(abs(x), abs(y))
	if negative := (x < 0) != (y < 0); high != 0 || low > 1<<63 || low == 1<<63 && !negative {
		return 0, false
	}
	return x * y, true
}

func abs(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// timeArithmetic compiles timestamp + milliseconds, timestamp - milliseconds, and timestamp - timestamp.
func (c *compiler) timeArithmetic(n *ast.BinaryNode, x, y node) node {
	kind := row.KindTimestamp
	switch op := n.Operator; {
	case op == "-" && x.kind == row.KindTimestamp && y.kind == row.KindTimestamp:
		kind = row.KindInt
	case (op == "+" || op == "-") && x.kind == row.KindTimestamp && y.kind == row.KindInt:
	case op == "+" && x.kind == row.KindInt && y.kind == row.KindTimestamp:
	default:
		return c.fail(n, "%v %s %v: a timestamp takes + or - and an int (milliseconds), or - and a timestamp", x.kind, op, y.kind)
	}
	op := intOp(n.Operator, c.overflow(n))
	if kind == row.KindInt {
		return c.fold(n, kind, lift2(x.eval, y.eval, op), x, y)
	}
	return c.fold(n, kind, lift2(x.eval, y.eval, func(a, b row.Value) row.Value {
		v := op(a, b)
		if v.Missing() {
			return v
		}
		return row.Timestamp(v.Int())
	}), x, y)
}

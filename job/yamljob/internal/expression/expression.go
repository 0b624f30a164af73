// Package expression compiles the expressions of a YAML job. The language is that of expr-lang/expr, whose parser it
// uses; types are checked here against a [row.Schema] when the job is loaded, and each expression becomes a tree of Go
// closures over a row, so that nothing is looked up by name, boxed or allocated at run time.
//
// Semantics (docs/formats/job-yaml.md): null in arithmetic, comparisons and functions gives null; and, or, not follow
// three-valued logic; ?? and == nil see null. Integers are int64 and their overflow is an error; / gives a float, and a
// division by zero null.
//
// What is done with the outcome is left to the caller.
package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/text"
)

// Eval computes a value from a row. It fails (row.KindFailed) where the doc of the package says so.
type Eval func(row.Row) row.Value

// Expr is a compiled expression.
type Expr struct {
	Text string
	// Kind is the kind of every value that is neither null nor failed; KindNull for the literal nil.
	Kind row.Kind
	Eval Eval
	// Field is the position of the field that the whole expression consists of, -1 if it is more than that.
	Field int
	// MayFail says that Eval may give a failure: it calculates with ints.
	MayFail bool
}

// Of is Eval, quicker for an expression that is a field.
func (e *Expr) Of(r row.Row) row.Value {
	if e.Field >= 0 {
		return r.Values[e.Field]
	}
	return e.Eval(r)
}

// Error is a mistake in an expression.
type Error struct {
	// Offset counts the characters before it.
	Offset  int
	Message string
}

func (e *Error) Error() string { return e.Message }

// Compile parses and checks an expression over the fields of a schema. It reports every mistake.
func Compile(text string, schema *row.Schema) (*Expr, []*Error) {
	tree, errs := parse(text)
	if errs != nil {
		return nil, errs
	}
	c := &compiler{schema: schema}
	return c.expr(text, tree)
}

// Syntax checks only what can be checked without a schema: the syntax, and that the functions are there.
func Syntax(text string) []*Error {
	tree, errs := parse(text)
	if errs != nil {
		return errs
	}
	v := &callVisitor{}
	ast.Walk(&tree, v)
	return v.c.errs
}

// AggregateSyntax is Syntax for an aggregate and what it is of.
func AggregateSyntax(text string) []*Error {
	tree, errs := parse(text)
	if errs != nil {
		return errs
	}
	v := &callVisitor{}
	n, _ := v.c.aggregate(tree)
	if n == nil {
		return v.c.errs
	}
	for i := range n.Arguments {
		ast.Walk(&n.Arguments[i], v)
	}
	return v.c.errs
}

// callVisitor reports the functions of a tree that there are not.
type callVisitor struct{ c compiler }

// Visit implements [ast.Visitor].
func (v *callVisitor) Visit(n *ast.Node) {
	if call, ok := (*n).(*ast.CallNode); ok {
		if callee, ok := call.Callee.(*ast.IdentifierNode); ok && callee.Value != "coalesce" {
			v.c.known(callee)
		}
	}
}

// known reports a name that is not one of a function.
func (c *compiler) known(callee *ast.IdentifierNode) bool {
	if _, ok := functions[callee.Value]; ok {
		return true
	}
	switch {
	case slices.Contains(AggregateNames, callee.Value):
		c.fail(callee, "%s is an aggregate: it stands alone in an aggregate step", callee.Value)
	case callee.Value == "now" || callee.Value == "rand":
		c.fail(callee, "there is no %s(): a job computes the same from the same records, also after a restart", callee.Value)
	default:
		c.fail(callee, "unknown function %q%s", callee.Value, text.Suggest(callee.Value, FunctionNames()))
	}
	return false
}

// expr compiles a tree and wraps up the outcome.
func (c *compiler) expr(text string, tree ast.Node) (*Expr, []*Error) {
	n := c.compile(tree)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	e := &Expr{Text: text, Kind: n.kind, Eval: n.eval, Field: -1, MayFail: c.mayFail}
	if n.isField {
		e.Field = n.field
	}
	return e, nil
}

// plain makes the parser take every name for an ordinary one: its own built-in functions mean nothing here.
var plain = func() *conf.Config {
	c := conf.CreateNew()
	for _, f := range builtin.Builtins {
		c.Functions[f.Name] = f
	}
	for _, name := range []string{"all", "none", "any", "one", "filter", "map", "count", "sum", "find", "findIndex",
		"findLast", "findLastIndex", "groupBy", "sortBy", "reduce"} {
		c.Functions[name] = &builtin.Function{Name: name}
	}
	return c
}()

func parse(text string) (ast.Node, []*Error) {
	tree, err := parser.ParseWithConfig(text, plain)
	if err == nil {
		return tree.Node, nil
	}
	var at *file.Error
	if errors.As(err, &at) {
		return nil, []*Error{{at.From, reword(at.Message)}}
	}
	return nil, []*Error{{0, err.Error()}}
}

// reword says in our words what the parser says of common mistakes.
func reword(message string) string {
	switch {
	case message == "unexpected token EOF":
		return "it ends too early"
	case strings.HasPrefix(message, "invalid integer literal"):
		return "this number is too large for an int"
	}
	return message
}

// node is a compiled part of an expression.
type node struct {
	kind row.Kind
	eval Eval
	// constant nodes have their value at load time.
	constant bool
	value    row.Value
	isField  bool
	field    int
	// bad nodes have been reported; whatever contains them keeps quiet.
	bad bool
}

var bad = node{bad: true}

type compiler struct {
	schema  *row.Schema
	errs    []*Error
	mayFail bool
}

func (c *compiler) fail(at ast.Node, format string, args ...any) node {
	c.errs = append(c.errs, &Error{at.Location().From, fmt.Sprintf(format, args...)})
	return bad
}

func constant(v row.Value) node {
	return node{kind: v.Kind(), constant: true, value: v, eval: func(row.Row) row.Value { return v }}
}

// fold turns an operation on constants into a constant. One that fails on constants is a mistake.
func (c *compiler) fold(at ast.Node, kind row.Kind, eval Eval, operands ...node) node {
	n := node{kind: kind, eval: eval}
	for _, o := range operands {
		if !o.constant {
			return n
		}
	}
	v := eval(row.Row{})
	if err := v.Err(); err != nil {
		return c.fail(at, "%v", err)
	}
	folded := constant(v)
	folded.kind = kind
	return folded
}

func (c *compiler) compile(at ast.Node) node {
	switch n := at.(type) {
	case *ast.NilNode:
		return constant(row.Null)
	case *ast.BoolNode:
		return constant(row.Bool(n.Value))
	case *ast.IntegerNode:
		return constant(row.Int(int64(n.Value)))
	case *ast.FloatNode:
		return constant(row.Float(n.Value))
	case *ast.StringNode:
		return constant(row.String(n.Value))
	case *ast.IdentifierNode:
		return c.identifier(n, n.Value)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.CallNode:
		return c.call(n)
	case *ast.ChainNode:
		return c.compile(n.Node)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.ArrayNode:
		return c.fail(n, "a list stands only after in")
	case *ast.MapNode:
		return c.fail(n, "an expression cannot make an object: give each member a field of its own")
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		return c.fail(at, "let and ; are not part of this language: use a map step for what is computed before")
	}
	return c.fail(at, "this construct is not part of the language")
}

func (c *compiler) identifier(at ast.Node, name string) node {
	i, kind, ok := c.schema.Lookup(name)
	if !ok {
		if _, isFunc := functions[name]; isFunc {
			return c.fail(at, "%s is a function: write %s(...)", name, name)
		}
		return c.fail(at, "unknown field %q%s", name, text.Suggest(name, c.schema.Names()))
	}
	return node{kind: kind, isField: true, field: i, eval: func(r row.Row) row.Value { return r.Values[i] }}
}

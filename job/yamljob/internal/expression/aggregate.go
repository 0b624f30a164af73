package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/text"
)

// AggregateNames are the aggregates.
var AggregateNames = []string{"count", "count_if", "sum", "avg", "min", "max", "first", "last", "count_distinct"}

// Call is an aggregate and what it is of: nil for count().
type Call struct {
	Name string
	Arg  *Expr
}

// aggregate is the call that a tree consists of, and the name of the aggregate. It reports anything else.
func (c *compiler) aggregate(tree ast.Node) (*ast.CallNode, *ast.IdentifierNode) {
	n, ok := tree.(*ast.CallNode)
	if !ok {
		c.fail(tree, "want one aggregate, such as %s: compute with the results in a map step after it", AggregateNames[0]+"()")
		return nil, nil
	}
	callee, _ := n.Callee.(*ast.IdentifierNode)
	if callee == nil || !slices.Contains(AggregateNames, callee.Value) {
		name := n.Callee.String()
		c.fail(n.Callee, "unknown aggregate %q%s: one of %s", name, text.Suggest(name, AggregateNames), strings.Join(AggregateNames, ", "))
		return nil, nil
	}
	return n, callee
}

// CompileAggregate parses and checks an aggregate: count(), sum(amount * 2). It reports every mistake.
func CompileAggregate(source string, schema *row.Schema) (*Call, []*Error) {
	tree, errs := parse(source)
	if errs != nil {
		return nil, errs
	}
	c := &compiler{schema: schema}
	n, callee := c.aggregate(tree)
	if callee == nil {
		return nil, c.errs
	}
	call := &Call{Name: callee.Value}
	if len(n.Arguments) == 0 && call.Name == "count" {
		return call, nil
	}
	if len(n.Arguments) != 1 {
		c.fail(callee, "%s wants one argument, got %d", call.Name, len(n.Arguments))
		return nil, c.errs
	}
	arg := n.Arguments[0]
	if call.Arg, errs = c.expr(arg.String(), arg); errs != nil {
		return nil, errs
	}
	kind := call.Arg.Kind
	fits := true
	switch call.Name {
	case "count_if":
		fits = kind == row.KindBool
	case "sum", "avg":
		fits = isNumber(kind)
	case "min", "max":
		fits = isNumber(kind) || kind == row.KindString || kind == row.KindTimestamp
	case "first", "last":
		fits = kind != row.KindNull
	case "count_distinct":
		fits = kind != row.KindNull && kind != row.KindJSON
	}
	if !fits {
		c.fail(arg, "%s of %v", call.Name, kind)
		return nil, c.errs
	}
	return call, nil
}

// ResultKind is the kind of an aggregate's result.
func (c *Call) ResultKind() row.Kind {
	switch c.Name {
	case "count", "count_if", "count_distinct":
		return row.KindInt
	case "avg":
		return row.KindFloat
	}
	return c.Arg.Kind
}

package expression

import (
	"errors"
	"math"
	"strconv"

	"github.com/weirstream/weir/job/yamljob/internal/row"
)

var errAbs = errors.New("abs: integer overflow")

func init() {
	define("abs",
		one(row.KindInt, row.KindInt, func(a row.Value) row.Value {
			switch x := a.Int(); {
			case x == math.MinInt64:
				return row.Failed(&errAbs)
			case x < 0:
				return row.Int(-x)
			}
			return a
		}),
		one(row.KindFloat, row.KindFloat, real1(math.Abs)))
	// An int is whole already.
	same := one(row.KindInt, row.KindInt, func(a row.Value) row.Value { return a })
	define("floor", same, one(row.KindFloat, row.KindFloat, real1(math.Floor)))
	define("ceil", same, one(row.KindFloat, row.KindFloat, real1(math.Ceil)))
	define("round", same, one(row.KindFloat, row.KindFloat, real1(math.Round)))
	define("sqrt", one(row.KindFloat, row.KindFloat, real1(math.Sqrt)))
	define("exp", one(row.KindFloat, row.KindFloat, real1(math.Exp)))
	define("log", one(row.KindFloat, row.KindFloat, real1(math.Log)))
	for name, takeFirst := range map[string]string{"min": "<=", "max": ">="} {
		define(name,
			two(row.KindInt, row.KindInt, row.KindInt, choose(ordered(takeFirst, row.Value.Int))),
			two(row.KindFloat, row.KindFloat, row.KindFloat, choose(ordered(takeFirst, row.Value.Float))),
			two(row.KindString, row.KindString, row.KindString, choose(ordered(takeFirst, row.Value.Str))),
			two(row.KindTimestamp, row.KindTimestamp, row.KindTimestamp, choose(ordered(takeFirst, row.Value.Int))))
	}
	define("int", same,
		one(row.KindFloat, row.KindInt, func(a row.Value) row.Value { return intOf(a.Float()) }),
		one(row.KindString, row.KindInt, func(a row.Value) row.Value { return parseInt(a.Str()) }),
		one(row.KindTimestamp, row.KindInt, func(a row.Value) row.Value { return row.Int(a.Int()) }),
		one(row.KindJSON, row.KindInt, func(a row.Value) row.Value { return parseInt(row.Text(a.Str())) }))
	define("float",
		one(row.KindFloat, row.KindFloat, func(a row.Value) row.Value { return a }),
		one(row.KindString, row.KindFloat, func(a row.Value) row.Value { return parseFloat(a.Str()) }),
		one(row.KindJSON, row.KindFloat, func(a row.Value) row.Value { return parseFloat(row.Text(a.Str())) }))
	define("bool",
		one(row.KindBool, row.KindBool, func(a row.Value) row.Value { return a }),
		one(row.KindString, row.KindBool, func(a row.Value) row.Value { return parseBool(a.Str()) }),
		one(row.KindJSON, row.KindBool, func(a row.Value) row.Value { return parseBool(row.Text(a.Str())) }))
}

func real1(f func(float64) float64) op1 {
	return func(a row.Value) row.Value { return row.Float(f(a.Float())) }
}

func choose(first op2) op2 {
	return func(a, b row.Value) row.Value {
		if first(a, b).Bool() {
			return a
		}
		return b
	}
}

// intOf cuts a float's fraction off; null if it does not fit.
func intOf(f float64) row.Value {
	if f >= -1<<63 && f < 1<<63 {
		return row.Int(int64(f))
	}
	return row.Null
}

// What is not the text of a number or a bool is null.

func parseInt(s string) row.Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return row.Int(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return intOf(f)
	}
	return row.Null
}

func parseFloat(s string) row.Value {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return row.Float(f)
	}
	return row.Null
}

func parseBool(s string) row.Value {
	switch s {
	case "true":
		return row.Bool(true)
	case "false":
		return row.Bool(false)
	}
	return row.Null
}

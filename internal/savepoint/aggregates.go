package savepoint

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/accumulator"
)

// aggregates puts the accumulator of a YAML job into words: "clicks=3, total=6", or without names "count()=3, sum(n)=6". It
// is not ok if the bytes are not of that form.
func aggregates(typ string, sets [][]checkpoint.Column, b []byte) (_ string, ok bool) {
	definitions, ok := accumulator.OfType(typ)
	if !ok {
		return "", false
	}
	r := accumulator.NewReader(b)
	var columns []checkpoint.Column
	switch set := r.Set(); {
	case set < uint64(len(sets)):
		columns = slices.DeleteFunc(slices.Clone(sets[set]), func(c checkpoint.Column) bool { return c.Gone })
	case set > 0:
		return "", false
	default:
		for _, d := range definitions {
			columns = append(columns, checkpoint.Column{Definition: d})
		}
	}
	seen := r.Seen(len(columns))
	var out []string
	for i, c := range columns {
		a, err := accumulator.Parse(c.Definition)
		if err != nil {
			return "", false
		}
		form, err := a.Form()
		if err != nil {
			return "", false
		}
		if c.Name == "" {
			c.Name = a.Function + "(" + a.Argument + ")"
		}
		text := "null"
		switch {
		case i < 64 && seen&(1<<i) != 0:
			v := accumulator.Value{Words: make([]uint64, form.Words())}
			r.Value(form, &v)
			text = aggregateText(a, form, v)
		case form == accumulator.Count || form == accumulator.Set:
			text = "0"
		}
		out = append(out, c.Name+"="+text)
	}
	return strings.Join(out, ", "), r.Err() == nil
}

// aggregateText is what an aggregate has.
func aggregateText(a accumulator.Aggregate, form accumulator.Form, v accumulator.Value) string {
	switch {
	case form == accumulator.Set:
		return strconv.Itoa(len(v.Elements))
	case form == accumulator.Count:
		return strconv.FormatUint(v.Words[0], 10)
	case form == accumulator.Float:
		return floatText(accumulator.Total(v.Words))
	case form == accumulator.Mean:
		return floatText(accumulator.Total(v.Words) / float64(v.Words[2]))
	case form == accumulator.Text && a.Kind == "string":
		return strconv.Quote(v.Text)
	case form == accumulator.Text:
		return v.Text
	case a.Kind == "float":
		return floatText(math.Float64frombits(v.Words[0]))
	case a.Kind == "bool":
		return strconv.FormatBool(v.Words[0] != 0)
	case a.Kind == "timestamp":
		return checkpoint.TimeText(int64(v.Words[0]))
	}
	return strconv.FormatInt(int64(v.Words[0]), 10)
}

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

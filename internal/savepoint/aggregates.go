package savepoint

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weirstream/weir/checkpoint"
)

// aggregates puts the accumulator of a YAML job into words: "clicks=3, total=6", or without names "count()=3, sum(n)=6". It
// is not ok if the bytes are not of that form.
func aggregates(typ string, sets [][]checkpoint.Column, b []byte) (_ string, ok bool) {
	r := cutter{b: b}
	// An accumulator of a later set of columns than the first says of which.
	set := uint64(0)
	if rest, ok := bytes.CutPrefix(b, []byte{0x80, 0}); ok {
		r.b = rest
		set = r.uvarint()
	}
	var columns []checkpoint.Column
	switch {
	case set < uint64(len(sets)):
		columns = slices.DeleteFunc(slices.Clone(sets[set]), func(c checkpoint.Column) bool { return c.Gone })
	case set > 0:
		return "", false
	default:
		for _, call := range splitCalls(strings.TrimPrefix(typ, "aggregates ")) {
			columns = append(columns, checkpoint.Column{Definition: call})
		}
	}
	seen := r.uvarint()
	var out []string
	for i, c := range columns {
		fn, arg, ok := strings.Cut(c.Definition, "(")
		arg, closed := strings.CutSuffix(arg, ")")
		if !ok || !closed {
			return "", false
		}
		kind := ""
		if at := strings.LastIndex(arg, ": "); at >= 0 {
			arg, kind = arg[:at], arg[at+2:]
		}
		value, ok := r.aggregate(fn, kind, i < 64 && seen&(1<<i) != 0)
		if !ok {
			return "", false
		}
		if c.Name == "" {
			c.Name = fn + "(" + arg + ")"
		}
		out = append(out, c.Name+"="+value)
	}
	if r.bad || len(r.b) > 0 || len(columns) < 64 && seen>>len(columns) != 0 {
		return "", false
	}
	return strings.Join(out, ", "), true
}

// splitCalls splits a list of calls at the commas between them.
func splitCalls(s string) []string {
	var out []string
	depth, from := 0, 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	out = append(out, s[from:])
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// cutter takes values off the front of b; bad says that it ended too early.
type cutter struct {
	b   []byte
	bad bool
}

// aggregate reads what one aggregate has, if it has seen anything.
func (r *cutter) aggregate(fn, kind string, seen bool) (string, bool) {
	counts := fn == "count" || fn == "count_if" || fn == "count_distinct"
	switch {
	case !seen && counts:
		return "0", true
	case !seen:
		return "null", true
	case fn == "count_distinct":
		n := r.uvarint()
		for i := uint64(0); i < n && !r.bad; i++ {
			r.text()
		}
		return strconv.FormatUint(n, 10), true
	case counts:
		return strconv.FormatUint(r.uvarint(), 10), true
	case fn == "sum" && kind == "float":
		return floatText(r.float() + r.float()), true
	case fn == "sum":
		return strconv.FormatInt(r.varint(), 10), true
	case fn == "avg":
		total := r.float() + r.float()
		return floatText(total / float64(r.uvarint())), true
	case fn != "min" && fn != "max" && fn != "first" && fn != "last":
		return "", false
	case kind == "string":
		return strconv.Quote(r.text()), true
	case kind == "json":
		return r.text(), true
	case kind == "float":
		return floatText(r.float()), true
	case kind == "bool":
		return strconv.FormatBool(r.word() != 0), true
	case kind == "timestamp":
		return timeText(int64(r.word())), true
	}
	return strconv.FormatInt(int64(r.word()), 10), true
}

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// cut takes n bytes off, none if there are not so many.
func (r *cutter) cut(n int) []byte {
	if n <= 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *cutter) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.cut(n)
	return v
}

func (r *cutter) varint() int64 {
	v, n := binary.Varint(r.b)
	r.cut(n)
	return v
}

func (r *cutter) word() uint64 {
	b := r.cut(8)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

func (r *cutter) float() float64 { return math.Float64frombits(r.word()) }

func (r *cutter) text() string {
	n := r.uvarint()
	if r.bad || n == 0 {
		return ""
	}
	if n > uint64(len(r.b)) {
		n = math.MaxInt32
	}
	return string(r.cut(int(n)))
}

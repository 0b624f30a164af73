// Package aggregate computes the aggregates of a YAML job: a [Plan] says which ones, an [Acc] holds what they know of one
// key (and window).
//
// All of them skip null. The sum, mean, least, greatest, first or last of nothing is null, a count of nothing 0. Sums of
// ints are int64 and their overflow is an error; sums and means of floats are compensated (Neumaier). First and last go by
// the order in which records come; when sessions merge, the earlier session's first and the later one's last stay.
//
// Invariant: an Acc is a value; whatever it points to is never changed once an operation has returned it, since a
// checkpoint may be reading it.
package aggregate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/accumulator"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
)

// inline is how many words an accumulator has in place: enough for a count, a mean and two more.
const inline = 6

// MaxCalls is how many aggregates a step may have.
const MaxCalls = 64

// Acc is an accumulator. The zero value has seen nothing.
type Acc struct {
	// seen has a bit for each aggregate that has seen a value.
	seen  uint64
	words [inline]uint64
	more  *more
}

// more is what not every accumulator needs. It is copied before it is changed.
type more struct {
	words []uint64 // in place of Acc.words, if those are too few
	texts []string
	sets  []set
}

// set is a set of encoded values in order of arrival. Later versions append behind elems; index belongs to the latest.
type set struct {
	elems []string
	index *index
}

type index struct{ m map[string]struct{} }

type function uint8

const (
	count function = iota
	countIf
	sumInt
	sumFloat
	avg
	least
	greatest
	first
	last
	distinct
)

var functions = map[string]function{"count": count, "count_if": countIf, "sum": sumInt, "avg": avg, "min": least, "max": greatest, "first": first, "last": last,
	"count_distinct": distinct}

type step struct {
	fn   function
	form accumulator.Form
	kind row.Kind // of the argument
	arg  expression.Eval
	// field is that of the argument if it is no more than that, else -1.
	field int
	text  string
	// word, word2 and so on follow each other in words; text values and sets have their own places.
	word, textAt, setAt int
}

// Plan is a list of aggregates. It is safe for concurrent use.
type Plan struct {
	steps              []step
	words, texts, sets int
	definitions        []string
	describe           string
	schema             string
	// Locate, if set, says in an error where it happened.
	Locate func(error) error
}

// New makes a plan of at most MaxCalls aggregates.
func New(calls []*expression.Call) *Plan {
	p := &Plan{}
	for _, c := range calls {
		a := accumulator.Aggregate{Function: c.Name}
		if c.Arg != nil {
			a.Argument, a.Kind = c.Arg.Text, c.Arg.Kind.String()
		}
		s, err := stepOf(a.String())
		if err != nil {
			panic(err) // package expression knows which aggregates there are
		}
		if c.Arg != nil {
			s.kind, s.arg, s.field, s.text = c.Arg.Kind, c.Arg.Eval, c.Arg.Field, c.Arg.Text
		}
		p.add(s, a.String())
	}
	p.describe = accumulator.Type(p.definitions)
	return p
}

// add gives an aggregate its place in accumulators.
func (p *Plan) add(s step, definition string) {
	s.word, s.textAt, s.setAt = p.words, p.texts, p.sets
	switch s.form {
	case accumulator.Set:
		p.sets++
	case accumulator.Text:
		p.texts++
	}
	p.words += s.form.Words()
	p.steps, p.definitions = append(p.steps, s), append(p.definitions, definition)
}

// Add takes in a row. The error is an expression's, or an overflow.
func (p *Plan) Add(acc Acc, r row.Row) (Acc, error) {
	w, owned := acc.words[:], false
	if p.words > inline {
		p.own(&acc, &owned)
		w = acc.more.words
	}
	for i := range p.steps {
		s := &p.steps[i]
		v := s.value(r)
		if s.arg != nil && v.Missing() {
			if err := v.Err(); err != nil {
				return acc, p.locate(err)
			}
			continue
		}
		bit := uint64(1) << i
		seen := acc.seen&bit != 0
		acc.seen |= bit
		switch s.form {
		case accumulator.Set:
			p.addDistinct(&acc, &owned, s, v)
		case accumulator.Text:
			if !seen || s.replaces(acc.more.texts[s.textAt], v.Str()) {
				p.own(&acc, &owned)
				acc.more.texts[s.textAt] = strings.Clone(v.Str())
			}
		default:
			if !s.add(w[s.word:], seen, v) {
				return acc, p.locate(s.overflow())
			}
		}
	}
	return acc, nil
}

// value is what a step takes in of a row: null if it has no argument.
func (s *step) value(r row.Row) row.Value {
	switch {
	case s.arg == nil:
		return row.Null
	case s.field >= 0:
		return r.Values[s.field]
	}
	return s.arg(r)
}

// add takes a value into a step's words, the first of w; seen says that they have some. It reports whether there was no
// overflow.
func (s *step) add(w []uint64, seen bool, v row.Value) bool {
	switch s.fn {
	case count:
		w[0]++
	case countIf:
		if v.Bool() {
			w[0]++
		}
	case sumInt:
		sum, ok := addInt(int64(w[0]), v.Int())
		if !ok {
			return false
		}
		w[0] = uint64(sum)
	case sumFloat:
		addFloat(w, v.Float())
	case avg:
		addFloat(w, number(v))
		w[2]++
	default:
		if bits := word(v); !seen || s.takes(w[0], bits) {
			w[0] = bits
		}
	}
	return true
}

// own makes acc.more one that may be changed, unless *owned says that it is.
func (p *Plan) own(acc *Acc, owned *bool) {
	if *owned {
		return
	}
	*owned = true
	m := new(more)
	if old := acc.more; old != nil {
		m.words, m.texts, m.sets = slices.Clone(old.words), slices.Clone(old.texts), slices.Clone(old.sets)
	} else {
		if p.words > inline {
			m.words = make([]uint64, p.words)
		}
		m.texts, m.sets = make([]string, p.texts), make([]set, p.sets)
	}
	acc.more = m
}

func (p *Plan) wordsOf(acc *Acc) []uint64 {
	if p.words > inline {
		if acc.more == nil {
			return make([]uint64, p.words)
		}
		return acc.more.words
	}
	return acc.words[:]
}

func (p *Plan) locate(err error) error {
	if p.Locate == nil {
		return err
	}
	return p.Locate(err)
}

func (s *step) overflow() error {
	return fmt.Errorf("sum(%s): integer overflow: sum float(%s) instead", s.text, s.text)
}

// takes reports whether a new value takes the place of the one before.
func (s *step) takes(old, bits uint64) bool {
	switch s.fn {
	case least, greatest:
		less := int64(bits) < int64(old)
		if s.kind == row.KindFloat {
			less = math.Float64frombits(bits) < math.Float64frombits(old)
		}
		return less == (s.fn == least) && bits != old
	}
	return s.fn == last
}

// replaces is takes for texts.
func (s *step) replaces(old, text string) bool {
	switch s.fn {
	case least:
		return text < old
	case greatest:
		return text > old
	}
	return s.fn == last
}

func word(v row.Value) uint64 {
	switch v.Kind() {
	case row.KindFloat:
		return math.Float64bits(v.Float())
	case row.KindBool:
		if v.Bool() {
			return 1
		}
		return 0
	}
	return uint64(v.Int())
}

func number(v row.Value) float64 {
	if v.Kind() == row.KindInt {
		return float64(v.Int())
	}
	return v.Float()
}

func addInt(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

// addFloat adds x to the sum w[0] and what was lost in rounding to w[1]: A. Neumaier, "Rundungsfehleranalyse einiger
// Verfahren zur Summation endlicher Summen", ZAMM 54 (1974).
func addFloat(w []uint64, x float64) {
	sum, lost := math.Float64frombits(w[0]), math.Float64frombits(w[1])
	t := sum + x
	if math.Abs(sum) >= math.Abs(x) {
		lost += (sum - t) + x
	} else {
		lost += (x - t) + sum
	}
	w[0], w[1] = math.Float64bits(t), math.Float64bits(lost)
}

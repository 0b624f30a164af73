package aggregate

import (
	"fmt"
	"slices"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/accumulator"
	"github.com/weirstream/weir/operators"
)

// Name gives the aggregates the names that the job's file has for them: by name and definition they are found again at a
// restore, also if others were added since. dropped are names that the user gave up.
func (p *Plan) Name(names, dropped []string) {
	var columns []checkpoint.Column
	for _, name := range dropped {
		columns = append(columns, checkpoint.Column{Name: name, Gone: true})
	}
	for i, name := range names {
		columns = append(columns, checkpoint.Column{Name: name, Definition: p.definitions[i]})
	}
	p.schema = checkpoint.Schema{Columns: [][]checkpoint.Column{columns}}.String()
}

// Schema implements [operators.Described]; it is empty if the aggregates have no names.
func (p *Plan) Schema() string { return p.schema }

// Continue implements [operators.Continued]. Accumulators of the first set of columns are written as [Plan] does it; those
// of a later one say which.
func (p *Plan) Continue(schema string) (operators.Codec[Acc], error) {
	s, err := checkpoint.ParseSchema(schema)
	if err != nil {
		return nil, err
	}
	c := &continued{Plan: p, schema: schema}
	var now []checkpoint.Column
	for g, columns := range slices.Backward(s.Columns) {
		columns = slices.DeleteFunc(slices.Clone(columns), func(c checkpoint.Column) bool { return c.Gone })
		if now == nil {
			now = columns
			c.number = uint64(g)
			c.older = make([]older, g)
			if len(now) != len(p.steps) {
				return nil, fmt.Errorf("schema %q has %d columns, the job %d", schema, len(now), len(p.steps))
			}
			continue
		}
		// A column that a set in between had not was given up and begun anew: values before do not have it.
		for i := range now {
			if !slices.Contains(columns, now[i]) {
				now[i].Gone = true
			}
		}
		if c.older[g], err = olderOf(columns, now); err != nil {
			return nil, fmt.Errorf("schema %q: %w", schema, err)
		}
	}
	return c, nil
}

// continued reads accumulators of several sets of columns.
type continued struct {
	*Plan
	schema string
	number uint64 // of the set that is written
	older  []older
}

// older reads one set of columns that is not written any more.
type older struct {
	plan *Plan
	from []int // where the plan has each column of now, -1 if it has not
}

func olderOf(columns, now []checkpoint.Column) (o older, err error) {
	o.plan = new(Plan)
	for _, c := range columns {
		s, err := stepOf(c.Definition)
		if err != nil {
			return o, fmt.Errorf("column %s: %w", c.Name, err)
		}
		o.plan.add(s, c.Definition)
	}
	for _, c := range now {
		o.from = append(o.from, slices.Index(columns, c))
	}
	return o, nil
}

// stepOf is a step without its expression, as a definition has it.
func stepOf(definition string) (s step, err error) {
	a, err := accumulator.Parse(definition)
	if err != nil {
		return s, err
	}
	if s.form, err = a.Form(); err != nil {
		return s, err
	}
	if s.fn = functions[a.Function]; s.form == accumulator.Float {
		s.fn = sumFloat
	}
	return s, nil
}

// Schema implements [operators.Described].
func (c *continued) Schema() string { return c.schema }

// Append implements [operators.Codec].
func (c *continued) Append(dst []byte, acc Acc) ([]byte, error) {
	return c.Plan.Append(accumulator.AppendSet(dst, c.number), acc)
}

// Decode implements [operators.Codec].
func (c *continued) Decode(b []byte) (Acc, error) {
	r := accumulator.NewReader(b)
	number := r.Set()
	switch {
	case number > c.number:
		return Acc{}, accumulator.ErrDamaged
	case number == c.number:
		return c.Plan.decode(r)
	}
	o := &c.older[number]
	old, err := o.plan.decode(r)
	if err != nil {
		return Acc{}, err
	}
	return c.take(o, old), nil
}

// take makes an accumulator of the plan's out of an older one: what it has not has seen nothing.
func (c *continued) take(o *older, old Acc) (acc Acc) {
	p := c.Plan
	if p.words > inline || p.texts > 0 || p.sets > 0 {
		p.own(&acc, new(bool))
	}
	w, from := acc.words[:], o.plan.wordsOf(&old)
	if p.words > inline {
		w = acc.more.words
	}
	for i, j := range o.from {
		if j < 0 || old.seen&(1<<j) == 0 {
			continue
		}
		acc.seen |= 1 << i
		is, was := &p.steps[i], &o.plan.steps[j]
		switch is.form {
		case accumulator.Set:
			acc.more.sets[is.setAt] = old.more.sets[was.setAt]
		case accumulator.Text:
			acc.more.texts[is.textAt] = old.more.texts[was.textAt]
		default:
			copy(w[is.word:is.word+is.form.Words()], from[was.word:])
		}
	}
	return acc
}

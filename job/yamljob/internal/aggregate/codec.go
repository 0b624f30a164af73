package aggregate

import "github.com/weirstream/weir/internal/accumulator"

// The encoded form, version 1 (docs/formats/job-yaml.md), is that of package accumulator: what has seen anything, and the
// values of those aggregates, in their order.

// Type names the aggregates: state without a schema fits only the same ones.
func (p *Plan) Type() string { return p.describe }

// Version is that of the encoded form.
func (p *Plan) Version() int { return 1 }

// Append encodes an accumulator.
func (p *Plan) Append(dst []byte, acc Acc) ([]byte, error) {
	dst = accumulator.AppendSeen(dst, acc.seen)
	w := p.wordsOf(&acc)
	for i := range p.steps {
		if s := &p.steps[i]; acc.seen&(1<<i) != 0 {
			dst = accumulator.Append(dst, s.form, s.part(&acc, w))
		}
	}
	return dst, nil
}

// part is what an accumulator with the words w has of a step.
func (s *step) part(acc *Acc, w []uint64) accumulator.Value {
	switch s.form {
	case accumulator.Text:
		return accumulator.Value{Text: acc.more.texts[s.textAt]}
	case accumulator.Set:
		return accumulator.Value{Elements: acc.more.sets[s.setAt].elems}
	}
	return accumulator.Value{Words: w[s.word : s.word+s.form.Words()]}
}

// Decode decodes an accumulator. What it returns shares nothing with b.
func (p *Plan) Decode(b []byte) (acc Acc, err error) {
	return p.decode(accumulator.NewReader(b))
}

func (p *Plan) decode(r accumulator.Reader) (acc Acc, err error) {
	acc.seen = r.Seen(len(p.steps))
	if p.words > inline || p.texts > 0 || p.sets > 0 {
		p.own(&acc, new(bool))
	}
	w := acc.words[:]
	if p.words > inline {
		w = acc.more.words
	}
	for i := range p.steps {
		s := &p.steps[i]
		if acc.seen&(1<<i) == 0 {
			continue
		}
		v := accumulator.Value{Words: w[s.word : s.word+s.form.Words()]}
		r.Value(s.form, &v)
		switch s.form {
		case accumulator.Text:
			acc.more.texts[s.textAt] = v.Text
		case accumulator.Set:
			acc.more.sets[s.setAt] = set{v.Elements, new(index)}
		}
	}
	return acc, r.Err()
}

package aggregate

import (
	"encoding/binary"
	"math"

	"github.com/weirstream/weir/internal/accumulator"
	"github.com/weirstream/weir/job/yamljob/internal/row"
)

// Results writes the results to dst, one for each aggregate.
func (p *Plan) Results(acc Acc, dst []row.Value) {
	p.results(acc.seen, p.wordsOf(&acc), acc.more, dst)
}

func (p *Plan) results(has uint64, w []uint64, more *more, dst []row.Value) {
	for i := range p.steps {
		s := &p.steps[i]
		seen := has&(1<<i) != 0
		switch {
		case s.fn <= countIf:
			dst[i] = row.Int(int64(w[s.word]))
		case s.form == accumulator.Set:
			n := 0
			if seen {
				n = len(more.sets[s.setAt].elems)
			}
			dst[i] = row.Int(int64(n))
		case !seen:
			dst[i] = row.Null
		case s.fn == sumInt:
			dst[i] = row.Int(int64(w[s.word]))
		case s.fn == sumFloat:
			dst[i] = row.Float(accumulator.Total(w[s.word:]))
		case s.fn == avg:
			dst[i] = row.Float(accumulator.Total(w[s.word:]) / float64(w[s.word+2]))
		case s.kind == row.KindString:
			dst[i] = row.String(more.texts[s.textAt])
		case s.kind == row.KindJSON:
			dst[i] = row.JSON(more.texts[s.textAt])
		default:
			dst[i] = value(s.kind, w[s.word])
		}
	}
}

func value(kind row.Kind, bits uint64) row.Value {
	switch kind {
	case row.KindFloat:
		return row.Float(math.Float64frombits(bits))
	case row.KindBool:
		return row.Bool(bits != 0)
	case row.KindTimestamp:
		return row.Timestamp(int64(bits))
	}
	return row.Int(int64(bits))
}

// Merge makes one accumulator of two, of which a is that of the earlier records.
func (p *Plan) Merge(a, b Acc) (Acc, error) {
	p.own(&a, new(bool))
	w, x := p.wordsOf(&a), p.wordsOf(&b)
	for i := range p.steps {
		s := &p.steps[i]
		bit := uint64(1) << i
		if b.seen&bit == 0 {
			continue
		}
		seen := a.seen&bit != 0
		a.seen |= bit
		switch at := s.word; {
		case s.form == accumulator.Set:
			for _, e := range b.more.sets[s.setAt].elems {
				a.more.sets[s.setAt].add(e)
			}
		case s.form == accumulator.Text:
			if text := b.more.texts[s.textAt]; !seen || s.replaces(a.more.texts[s.textAt], text) {
				a.more.texts[s.textAt] = text
			}
		case s.fn <= countIf:
			w[at] += x[at]
		case s.fn == sumInt:
			sum, ok := addInt(int64(w[at]), int64(x[at]))
			if !ok {
				return a, p.locate(s.overflow())
			}
			w[at] = uint64(sum)
		case s.fn == sumFloat, s.fn == avg:
			addFloat(w[at:at+2], math.Float64frombits(x[at]))
			addFloat(w[at:at+2], math.Float64frombits(x[at+1]))
			if s.fn == avg {
				w[at+2] += x[at+2]
			}
		case !seen || s.takes(w[at], x[at]):
			w[at] = x[at]
		}
	}
	return a, nil
}

// addDistinct adds a value to a set, if it is not there yet.
func (p *Plan) addDistinct(acc *Acc, owned *bool, s *step, v row.Value) {
	var buf [8]byte
	var e string
	if s.kind == row.KindString {
		e = v.Str()
	} else {
		if s.kind == row.KindFloat && v.Float() == 0 {
			v = row.Float(0) // -0 is 0
		}
		binary.BigEndian.PutUint64(buf[:], word(v))
		e = string(buf[:])
	}
	if acc.more == nil || !acc.more.sets[s.setAt].has(e) {
		p.own(acc, owned)
		acc.more.sets[s.setAt].add(e)
	}
}

func (s *set) has(e string) bool {
	if s.index == nil {
		return false
	}
	if s.index.m == nil {
		s.index.m = make(map[string]struct{}, len(s.elems))
		for _, old := range s.elems {
			s.index.m[old] = struct{}{}
		}
	}
	_, ok := s.index.m[e]
	return ok
}

// add copies e, which may share a record's bytes.
func (s *set) add(e string) {
	if s.has(e) {
		return
	}
	if s.index == nil {
		s.index = &index{m: map[string]struct{}{}}
	}
	e = string(append([]byte(nil), e...))
	s.index.m[e] = struct{}{}
	s.elems = append(s.elems, e)
}

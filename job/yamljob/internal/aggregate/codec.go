package aggregate

import (
	"encoding/binary"
	"errors"
	"math"
)

// The encoded form, version 1 (docs/formats/job-yaml.md): the bits of seen (uvarint); the words, in order of the
// aggregates: a count as uvarint, an int as varint, a float as 8 bytes big endian; texts (uvarint length, bytes); sets
// (uvarint number, then as texts). What was never seen is left out, but for counts.

// Type names the aggregates: state without a schema fits only the same ones.
func (p *Plan) Type() string { return p.describe }

// Version is that of the encoded form.
func (p *Plan) Version() int { return 1 }

// Append encodes an accumulator.
func (p *Plan) Append(dst []byte, acc Acc) ([]byte, error) {
	dst = binary.AppendUvarint(dst, acc.seen)
	w := p.wordsOf(&acc)
	for i := range p.steps {
		s := &p.steps[i]
		if acc.seen&(1<<i) == 0 {
			continue
		}
		switch at := s.word; {
		case s.fn == distinct:
			elems := acc.more.sets[s.setAt].elems
			dst = binary.AppendUvarint(dst, uint64(len(elems)))
			for _, e := range elems {
				dst = appendText(dst, e)
			}
		case s.fn >= least && s.isText():
			dst = appendText(dst, acc.more.texts[s.textAt])
		case s.fn <= countIf:
			dst = binary.AppendUvarint(dst, w[at])
		case s.fn == sumInt:
			dst = binary.AppendVarint(dst, int64(w[at]))
		case s.fn == sumFloat, s.fn == avg:
			dst = binary.BigEndian.AppendUint64(dst, w[at])
			dst = binary.BigEndian.AppendUint64(dst, w[at+1])
			if s.fn == avg {
				dst = binary.AppendUvarint(dst, w[at+2])
			}
		default:
			dst = binary.BigEndian.AppendUint64(dst, w[at])
		}
	}
	return dst, nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

var errCut = errors.New("an accumulator is cut short or damaged")

// Decode decodes an accumulator. What it returns shares nothing with b.
func (p *Plan) Decode(b []byte) (acc Acc, err error) {
	r := reader{b: b}
	acc.seen = r.uvarint()
	if len(p.steps) < 64 && acc.seen>>len(p.steps) != 0 {
		return acc, errCut
	}
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
		switch at := s.word; {
		case s.fn == distinct:
			n := r.uvarint()
			if n > uint64(len(r.b)) {
				return acc, errCut
			}
			elems := make([]string, n)
			for j := range elems {
				elems[j] = r.text()
			}
			acc.more.sets[s.setAt] = set{elems, new(index)}
		case s.fn >= least && s.isText():
			acc.more.texts[s.textAt] = r.text()
		case s.fn <= countIf:
			w[at] = r.uvarint()
		case s.fn == sumInt:
			w[at] = uint64(r.varint())
		case s.fn == sumFloat, s.fn == avg:
			w[at], w[at+1] = r.word(), r.word()
			if s.fn == avg {
				w[at+2] = r.uvarint()
			}
		default:
			w[at] = r.word()
		}
	}
	if r.bad || len(r.b) > 0 {
		return acc, errCut
	}
	return acc, nil
}

// reader reads from b; bad says that it ended too early.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	return take(r, v, n)
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	return take(r, v, n)
}

func take[T any](r *reader, v T, n int) T {
	if n <= 0 {
		r.bad, r.b = true, nil
		var zero T
		return zero
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		return take(r, uint64(0), 0)
	}
	return take(r, binary.BigEndian.Uint64(r.b), 8)
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) || n > math.MaxInt32 {
		return take(r, "", 0)
	}
	if n == 0 {
		return ""
	}
	return take(r, string(r.b[:n]), int(n))
}

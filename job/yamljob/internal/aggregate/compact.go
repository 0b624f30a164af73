package aggregate

import (
	"github.com/weirstream/weir/internal/accumulator"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/operators"
)

// Kernel is what computes aggregates with accumulators of type A. All kernels of one plan give the same results and write the
// same bytes: a state may go from one to another.
type Kernel[A any] interface {
	operators.Codec[A]
	operators.Described
	operators.Continued[A]
	Add(acc A, r row.Row) (A, error)
	Merge(a, b A) (A, error)
	Results(acc A, dst []row.Value)
}

// Size says which kernel has the smallest accumulators for a plan. Two of them lie in the cell of each key: their size decides
// how much memory a record touches, and one without pointers is none of the collector's business.
type Size uint8

// The sizes. SizeAny is that of a [Plan] itself.
const (
	SizeAny Size = iota
	SizeOne
	SizeFew
)

// Size is the smallest size that fits the plan.
func (p *Plan) Size() Size {
	switch {
	case len(p.steps) == 1 && p.steps[0].form == accumulator.Count:
		return SizeOne
	case p.texts == 0 && p.sets == 0 && p.words < len(FewAcc{}):
		return SizeFew
	}
	return SizeAny
}

// One is the kernel of a single count. Its accumulator is the count: one that has seen nothing is 0.
type One struct{ *Plan }

// Add takes in a row.
func (k One) Add(acc uint64, r row.Row) (uint64, error) {
	s := &k.steps[0]
	if s.arg == nil {
		return acc + 1, nil
	}
	v := s.value(r)
	switch {
	case v.Missing():
		if err := v.Err(); err != nil {
			return acc, k.locate(err)
		}
	case s.fn == count || v.Bool():
		acc++
	}
	return acc, nil
}

// Merge makes one accumulator of two.
func (One) Merge(a, b uint64) (uint64, error) { return a + b, nil }

// Results writes the result to dst.
func (One) Results(acc uint64, dst []row.Value) { dst[0] = row.Int(int64(acc)) }

// Append implements [operators.Codec].
func (One) Append(dst []byte, acc uint64) ([]byte, error) {
	if acc == 0 {
		return accumulator.AppendSeen(dst, 0), nil
	}
	return accumulator.AppendCount(accumulator.AppendSeen(dst, 1), acc), nil
}

// Decode implements [operators.Codec].
func (k One) Decode(b []byte) (uint64, error) { return k.small(k.Plan.Decode(b)) }

// Continue implements [operators.Continued].
func (k One) Continue(schema string) (operators.Codec[uint64], error) {
	return continueAs(k.Plan, schema, k.full, k.small)
}

func (One) full(acc uint64) Acc {
	if acc == 0 {
		return Acc{}
	}
	return Acc{seen: 1, words: [inline]uint64{acc}}
}

func (One) small(acc Acc, err error) (uint64, error) { return acc.words[0], err }

// FewAcc is what has seen a value, as in [Acc], and then the words.
type FewAcc [4]uint64

// Few is the kernel of aggregates of few words.
type Few struct{ *Plan }

// Add takes in a row.
func (k Few) Add(acc FewAcc, r row.Row) (FewAcc, error) {
	for i := range k.steps {
		s := &k.steps[i]
		v := s.value(r)
		if s.arg != nil && v.Missing() {
			if err := v.Err(); err != nil {
				return acc, k.locate(err)
			}
			continue
		}
		bit := uint64(1) << i
		if !s.add(acc[1+s.word:], acc[0]&bit != 0, v) {
			return acc, k.locate(s.overflow())
		}
		acc[0] |= bit
	}
	return acc, nil
}

// Merge makes one accumulator of two, of which a is that of the earlier records.
func (k Few) Merge(a, b FewAcc) (FewAcc, error) { return k.small(k.Plan.Merge(k.full(a), k.full(b))) }

// Results writes the results to dst.
func (k Few) Results(acc FewAcc, dst []row.Value) { k.results(acc[0], acc[1:], nil, dst) }

// Append implements [operators.Codec].
func (k Few) Append(dst []byte, acc FewAcc) ([]byte, error) {
	dst = accumulator.AppendSeen(dst, acc[0])
	for i := range k.steps {
		if s := &k.steps[i]; acc[0]&(1<<i) != 0 {
			dst = accumulator.AppendWords(dst, s.form, acc[1+s.word:])
		}
	}
	return dst, nil
}

// Decode implements [operators.Codec].
func (k Few) Decode(b []byte) (FewAcc, error) { return k.small(k.Plan.Decode(b)) }

// Continue implements [operators.Continued].
func (k Few) Continue(schema string) (operators.Codec[FewAcc], error) {
	return continueAs(k.Plan, schema, k.full, k.small)
}

func (Few) full(acc FewAcc) (full Acc) {
	full.seen = acc[0]
	copy(full.words[:], acc[1:])
	return full
}

func (Few) small(full Acc, err error) (acc FewAcc, _ error) {
	acc[0] = full.seen
	copy(acc[1:], full.words[:])
	return acc, err
}

// continuedAs is the codec of a continued plan for smaller accumulators.
type continuedAs[A any] struct {
	operators.Codec[Acc]
	schema string
	full   func(A) Acc
	small  func(Acc, error) (A, error)
}

func continueAs[A any](p *Plan, schema string, full func(A) Acc, small func(Acc, error) (A, error)) (operators.Codec[A], error) {
	c, err := p.Continue(schema)
	if err != nil {
		return nil, err
	}
	return continuedAs[A]{c, schema, full, small}, nil
}

// Schema implements [operators.Described].
func (c continuedAs[A]) Schema() string { return c.schema }

// Append implements [operators.Codec].
func (c continuedAs[A]) Append(dst []byte, acc A) ([]byte, error) {
	return c.Codec.Append(dst, c.full(acc))
}

// Decode implements [operators.Codec].
func (c continuedAs[A]) Decode(b []byte) (A, error) { return c.small(c.Codec.Decode(b)) }

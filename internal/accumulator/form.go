package accumulator

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Form is how an aggregate stands in an accumulator.
type Form uint8

const (
	// Count is a uvarint. Of what was never seen a count is 0, and the others are null.
	Count Form = iota
	// Int is a varint: a sum of ints.
	Int
	// Float is two words, big endian: a sum, and what was lost in rounding.
	Float
	// Mean is as Float, and then how many there were, as a uvarint.
	Mean
	// Word is 8 bytes, big endian: the bits of an int, a float, a bool or a timestamp.
	Word
	// Text is a uvarint and so many bytes.
	Text
	// Set is a uvarint and so many texts.
	Set
)

// Form is the form of an aggregate; the error says that it is none that this program knows.
func (a Aggregate) Form() (Form, error) {
	switch a.Function {
	case "count", "count_if":
		return Count, nil
	case "count_distinct":
		return Set, nil
	case "sum":
		if a.Kind == "float" {
			return Float, nil
		}
		return Int, nil
	case "avg":
		return Mean, nil
	case "min", "max", "first", "last":
		switch a.Kind {
		case "string", "json":
			return Text, nil
		case "int", "float", "bool", "timestamp":
			return Word, nil
		}
		return 0, fmt.Errorf("unknown type in %q", a)
	}
	return 0, fmt.Errorf("unknown aggregate %q", a)
}

// Words is how many words a value of the form has.
func (f Form) Words() int {
	switch f {
	case Text, Set:
		return 0
	case Float:
		return 2
	case Mean:
		return 3
	}
	return 1
}

// Value is what an accumulator has of one aggregate: as many words as its form says, or a text, or the elements of a set.
type Value struct {
	Words    []uint64
	Text     string
	Elements []string
}

// Total is a sum of floats with what was lost in rounding.
func Total(words []uint64) float64 {
	sum, lost := math.Float64frombits(words[0]), math.Float64frombits(words[1])
	if math.IsNaN(lost) || math.IsInf(lost, 0) {
		return sum
	}
	return sum + lost
}

// numbered begins an accumulator of a later set of columns than the first: no other does, since a uvarint is as short as can be.
var numbered = []byte{0x80, 0x00}

// AppendSet says which set of columns the accumulator has that is appended next, counted from 0.
func AppendSet(dst []byte, set uint64) []byte {
	if set == 0 {
		return dst
	}
	return binary.AppendUvarint(append(dst, numbered...), set)
}

// AppendSeen says which aggregates have seen anything, one bit each. The values of those follow, in their order.
func AppendSeen(dst []byte, seen uint64) []byte { return binary.AppendUvarint(dst, seen) }

// Append writes a value.
func Append(dst []byte, f Form, v Value) []byte {
	switch f {
	case Text:
		return appendText(dst, v.Text)
	case Set:
		dst = binary.AppendUvarint(dst, uint64(len(v.Elements)))
		for _, e := range v.Elements {
			dst = appendText(dst, e)
		}
		return dst
	}
	return AppendWords(dst, f, v.Words)
}

// AppendWords is Append for a form that consists of words.
func AppendWords(dst []byte, f Form, words []uint64) []byte {
	switch f {
	case Count:
		return AppendCount(dst, words[0])
	case Int:
		return binary.AppendVarint(dst, int64(words[0]))
	case Float, Mean:
		dst = binary.BigEndian.AppendUint64(dst, words[0])
		dst = binary.BigEndian.AppendUint64(dst, words[1])
		if f == Mean {
			dst = AppendCount(dst, words[2])
		}
		return dst
	}
	return binary.BigEndian.AppendUint64(dst, words[0])
}

// AppendCount is Append for a Count.
func AppendCount(dst []byte, n uint64) []byte { return binary.AppendUvarint(dst, n) }

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// ErrDamaged is the error of bytes that are no accumulator of such aggregates.
var ErrDamaged = errors.New("an accumulator is cut short or damaged")

// Reader reads an accumulator: Set, Seen, then Value for each aggregate that has seen anything, and Err. What it returns shares
// nothing with its bytes.
type Reader struct {
	b   []byte
	bad bool // it ended too early
}

// NewReader reads b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err says whether what was read is all that there was, and whole.
func (r *Reader) Err() error {
	if r.bad || len(r.b) > 0 {
		return ErrDamaged
	}
	return nil
}

// Set is which set of columns the accumulator has.
func (r *Reader) Set() uint64 {
	rest, later := bytes.CutPrefix(r.b, numbered)
	if !later {
		return 0
	}
	r.b = rest
	return r.uvarint()
}

// Seen says which of n aggregates have seen anything.
func (r *Reader) Seen(n int) uint64 {
	seen := r.uvarint()
	if n < 64 && seen>>n != 0 {
		return take(r, seen, 0)
	}
	return seen
}

// Value reads one value into v, whose words there have to be.
func (r *Reader) Value(f Form, v *Value) {
	switch f {
	case Count:
		v.Words[0] = r.uvarint()
	case Int:
		n, size := binary.Varint(r.b)
		v.Words[0] = uint64(take(r, n, size))
	case Float, Mean:
		v.Words[0], v.Words[1] = r.word(), r.word()
		if f == Mean {
			v.Words[2] = r.uvarint()
		}
	case Text:
		v.Text = r.text()
	case Set:
		n := r.uvarint()
		if n > uint64(len(r.b)) {
			take(r, n, 0)
			return
		}
		v.Elements = make([]string, n)
		for i := range v.Elements {
			v.Elements[i] = r.text()
		}
	default:
		v.Words[0] = r.word()
	}
}

func (r *Reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	return take(r, v, n)
}

// take goes on behind a value of n bytes; with none, it was cut short.
func take[T any](r *Reader, v T, n int) T {
	if n <= 0 {
		r.bad, r.b = true, nil
		var zero T
		return zero
	}
	r.b = r.b[n:]
	return v
}

func (r *Reader) word() uint64 {
	if len(r.b) < 8 {
		return take(r, uint64(0), 0)
	}
	return take(r, binary.BigEndian.Uint64(r.b), 8)
}

func (r *Reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) || n > math.MaxInt32 {
		return take(r, "", 0)
	}
	if n == 0 {
		return ""
	}
	return take(r, string(r.b[:n]), int(n))
}

package operators

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// bunch is a few of the events of one input of a join that have the same key and fall into the same span of time, in the order
// in which they came. The first bunch of a span speaks for all: it has no more than bunchSize events, and neither have those
// after it but the last possible one, so that a change costs that many, however many wait.
type bunch[V any] struct {
	first placed[V]
	// others are appended to, and never changed otherwise: a checkpoint may read the same ones.
	others []placed[V]
	// newest is not before any event of the span, and last the number of its last bunch: both in the first one only.
	newest int64
	last   uint16
}

// placed is a value and its time.
type placed[V any] struct {
	ts int64
	v  V
}

// bunchSize is how many events are written again at most when one comes.
const bunchSize = 16

func (b *bunch[V]) full() bool { return len(b.others) >= bunchSize-1 }

// each calls fn for the events from one time to another, both included.
func (b *bunch[V]) each(from, to int64, fn func(ts int64, v V) error) error {
	if ts := b.first.ts; from <= ts && ts <= to {
		if err := fn(ts, b.first.v); err != nil {
			return err
		}
	}
	for i := range b.others {
		if o := &b.others[i]; from <= o.ts && o.ts <= to {
			if err := fn(o.ts, o.v); err != nil {
				return err
			}
		}
	}
	return nil
}

// The namespace of a bunch is a number of three parts, so that it does not depend on the job's interval how it is read:
//
//	| grain, 6 bits | span, 42 bits | bunch, 16 bits |
//
// A span has 2^grain milliseconds and begins at a multiple of that; its number is the multiple, plus 2^41. What is thousands of
// years away falls into the first span or the last. The bunches of a span are numbered from 0.
const (
	spanBits  = 42
	bunchBits = 16
	lastBunch = 1<<bunchBits - 1
	farthest  = int64(1) << (spanBits - 1 + minGrain)
	minGrain  = 6
)

// grainFor is that of an interval of the given length: it reaches over two or three spans.
func grainFor(length int64) uint8 {
	return uint8(min(max(bits.Len64(uint64(length))-1, minGrain), spanBits))
}

// spanOf is the number of the span that a time falls into.
func spanOf(ts int64, grain uint8) int64 {
	return min(max(ts, -farthest), farthest-1)>>grain + 1<<(spanBits-1)
}

// placeOf is the namespace of the first bunch of a span.
func placeOf(grain uint8, span int64) int64 {
	return int64(grain)<<(spanBits+bunchBits) | span<<bunchBits
}

func grainOf(place int64) uint8  { return uint8(uint64(place) >> (spanBits + bunchBits)) }
func spanIn(place int64) int64   { return place >> bunchBits & (1<<spanBits - 1) }
func bunchIn(place int64) uint16 { return uint16(place) }

// bunchCodec writes newest (8 bytes, as a number), last and the number of events (uvarint), how long each is before newest
// (uvarint), and their values, each but the last of them with its length before it (4 bytes, big endian).
type bunchCodec[V any] struct{ value Codec[V] }

func (c bunchCodec[V]) Type() string { return "waiting " + c.value.Type() }
func (c bunchCodec[V]) Version() int { return c.value.Version() }

func (c bunchCodec[V]) Append(dst []byte, b bunch[V]) (_ []byte, err error) {
	dst = appendInt(dst, b.newest)
	dst = binary.AppendUvarint(dst, uint64(b.last))
	dst = binary.AppendUvarint(dst, uint64(len(b.others)+1))
	dst = binary.AppendUvarint(dst, uint64(b.newest-b.first.ts))
	for i := range b.others {
		dst = binary.AppendUvarint(dst, uint64(b.newest-b.others[i].ts))
	}
	if len(b.others) == 0 {
		return c.value.Append(dst, b.first.v)
	}
	if dst, err = c.appendLong(dst, b.first.v); err != nil {
		return dst, err
	}
	last := len(b.others) - 1
	for i := range last {
		if dst, err = c.appendLong(dst, b.others[i].v); err != nil {
			return dst, err
		}
	}
	return c.value.Append(dst, b.others[last].v)
}

func (c bunchCodec[V]) appendLong(dst []byte, v V) ([]byte, error) {
	at := len(dst)
	dst, err := c.value.Append(append(dst, 0, 0, 0, 0), v)
	if err == nil {
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, err
}

var errBunch = errors.New("interval_join: the state of waiting events is missing or broken")

// newest reads it of an encoded bunch.
func (bunchCodec[V]) newest(b []byte) (int64, error) {
	if len(b) < 8 {
		return 0, errBunch
	}
	return intOf(b), nil
}

func (c bunchCodec[V]) Decode(b []byte) (d bunch[V], err error) {
	if d.newest, err = c.newest(b); err != nil {
		return d, err
	}
	r := bunchReader{rest: b[8:]}
	last, n := r.uvarint(), r.uvarint()
	if r.broken || last > lastBunch || n == 0 || n > uint64(len(r.rest)) {
		return d, errBunch
	}
	d.last = uint16(last)
	d.first.ts = d.newest - int64(r.uvarint())
	if n > 1 {
		d.others = make([]placed[V], n-1)
	}
	for i := range d.others {
		d.others[i].ts = d.newest - int64(r.uvarint())
	}
	if d.first.v, err = c.value.Decode(r.value(n == 1)); err != nil {
		return d, err
	}
	for i := range d.others {
		if d.others[i].v, err = c.value.Decode(r.value(i == len(d.others)-1)); err != nil {
			return d, err
		}
	}
	if r.broken {
		return d, errBunch
	}
	return d, nil
}

// bunchReader takes an encoded bunch apart. After something broken it has nothing more.
type bunchReader struct {
	rest   []byte
	broken bool
}

func (r *bunchReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.broken = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *bunchReader) value(last bool) []byte {
	if last {
		return r.rest
	}
	if len(r.rest) < 4 || uint64(binary.BigEndian.Uint32(r.rest)) > uint64(len(r.rest)-4) {
		r.rest, r.broken = nil, true
		return nil
	}
	n := binary.BigEndian.Uint32(r.rest)
	v := r.rest[4 : 4+n : 4+n]
	r.rest = r.rest[4+n:]
	return v
}

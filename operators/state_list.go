package operators

import (
	"encoding/binary"
	"fmt"
)

// List is a list for each key. Elements are written one by one: adding one costs its own bytes, not the list's. As with
// [Value], what an element points to must not be changed in place.
type List[V any] struct {
	buckets[V, listBucket[V]]
	name []byte
	ttl  *expiry
}

type listBucket[V any] struct {
	bucket
	// elems has the live elements first and then the cells of deleted ones, whose places are written again by Add.
	elems []*cell[V]
}

// NewList declares a list state of the operator. A nil codec is CBOR; a [TTL] lets lists expire.
func NewList[V any](ctx *Context, name string, codec Codec[V], ttl ...TTL) (*List[V], error) {
	if codec == nil {
		codec = CBOR[V](1)
	}
	t := new(List[V])
	t.m = make(map[string]*listBucket[V])
	t.base = func(b *listBucket[V]) *bucket { return &b.bucket }
	t.fresh = func() *listBucket[V] { return new(listBucket[V]) }
	t.load, t.trim = t.loadElem, t.trimElems
	desc, codec, err := described(ctx, name, "list", codec)
	if err != nil {
		return nil, err
	}
	if err := t.declare(ctx, t, desc, codec); err != nil {
		return t, err
	}
	t.ttl, err = newExpiry(ctx, name, ttl, t.Clear)
	return t, err
}

func (t *List[V]) loadElem(b *listBucket[V], space, value []byte) error {
	if len(space) != 8 || binary.BigEndian.Uint64(space) != uint64(len(b.elems)) {
		return fmt.Errorf("element %d of the list is missing: the next one has namespace %x", len(b.elems), space)
	}
	v, err := t.codec.Decode(value)
	if err != nil {
		return fmt.Errorf("element %d: decoding: %w", len(b.elems), err)
	}
	b.elems = append(b.elems, loadCell(b.key+string(space), len(space), &b.bucket, v))
	return nil
}

func (t *List[V]) trimElems(b *listBucket[V]) {
	for _, c := range b.elems[b.live:] {
		t.grow(&b.bucket, -1, c.outside())
	}
	clear(b.elems[b.live:])
	b.elems = b.elems[:b.live]
}

// Add appends an element to the current key's list. The error is the store's.
func (t *List[V]) Add(v V) error {
	if err := t.ttl.enter(); err != nil {
		return err
	}
	b, err := t.open(true)
	if err != nil {
		return err
	}
	t.change(b)
	t.write(b, b.live, v)
	return t.ttl.leave(true, true)
}

// write sets element i, which is one of the list or the one after the last.
func (t *List[V]) write(b *listBucket[V], i int, v V) {
	if i == len(b.elems) {
		t.name = binary.BigEndian.AppendUint64(append(t.name[:0], b.key...), uint64(i))
		c := newCell[V](borrow(t.name), 8, &b.bucket)
		b.elems = append(b.elems, c)
		t.grow(&b.bucket, 1, c.outside())
	}
	if i == b.live {
		b.live++
	}
	b.elems[i] = t.put(b.elems[i], v)
}

// cut deletes the elements from i on.
func (t *List[V]) cut(b *listBucket[V], i int) {
	for j := i; j < b.live; j++ {
		b.elems[j] = t.kill(b.elems[j])
	}
	b.live = min(b.live, i)
	t.emptied(b)
}

// Set makes values the current key's list. The error is the store's.
func (t *List[V]) Set(values []V) error {
	if len(values) == 0 {
		return t.Clear()
	}
	if err := t.ttl.enter(); err != nil {
		return err
	}
	b, err := t.open(true)
	if err != nil {
		return err
	}
	t.change(b)
	for i, v := range values {
		t.write(b, i, v)
	}
	t.cut(b, len(values))
	return t.ttl.leave(true, true)
}

// Clear removes all elements of the current key's list. The error is the store's.
func (t *List[V]) Clear() error {
	b, err := t.open(false)
	if b == nil || b.live == 0 {
		return err
	}
	t.change(b)
	t.cut(b, 0)
	return t.ttl.emptied()
}

// Len is the number of elements of the current key's list. The error is the store's.
func (t *List[V]) Len() (int, error) {
	if err := t.ttl.enter(); err != nil {
		return 0, err
	}
	b, err := t.open(false)
	if b == nil {
		return 0, err
	}
	return b.live, t.ttl.leave(b.live > 0, false)
}

// All calls fn for each element of the current key's list, in order, until it returns an error. It may change the list:
// elements added meanwhile are seen.
func (t *List[V]) All(fn func(i int, v V) error) error {
	if err := t.ttl.enter(); err != nil {
		return err
	}
	b, err := t.open(false)
	if b == nil {
		return err
	}
	if err := t.ttl.leave(b.live > 0, false); err != nil {
		return err
	}
	for i := 0; i < b.live; i++ {
		c := b.elems[i]
		if err := fn(i, c.v[c.epoch&1]); err != nil {
			return err
		}
	}
	return nil
}

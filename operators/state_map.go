package operators

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// MapState is a map for each key. Entries are written one by one: a change costs its own bytes, not the map's. As with [Value],
// what a value points to must not be changed in place.
type MapState[MK comparable, V any] struct {
	buckets[V, mapBucket[MK, V]]
	keys Codec[MK]
	// again: keys have times in them, so each new one is compared with what would be read back.
	again bool
	name  []byte
	ttl   *expiry
}

type mapBucket[MK comparable, V any] struct {
	bucket
	entries map[MK]*cell[V]
	dead    []MK // deleted in this epoch
	// order is the keys of entries by their encoded form, deleted ones included, once somebody has asked for it. While
	// somebody walks over it, it is replaced and not changed.
	order  []MK
	walked bool
}

// NewMap declares a map state of the operator. A nil codec is CBOR; a [TTL] lets maps expire, with all their entries.
func NewMap[MK comparable, V any](ctx *Context, name string, keys Codec[MK], codec Codec[V], ttl ...TTL) (*MapState[MK, V], error) {
	if keys == nil {
		keys = CBOR[MK](1)
	}
	if codec == nil {
		codec = CBOR[V](1)
	}
	for _, err := range []error{lostInKeys(keys, reflect.TypeFor[MK]()), losesOf(codec)} {
		if err != nil {
			return nil, fmt.Errorf("state %q: %w", name, err)
		}
	}
	t := &MapState[MK, V]{keys: keys, again: hasTime(reflect.TypeFor[MK]())}
	t.m = make(map[string]*mapBucket[MK, V])
	t.beside = 2 * int64(reflect.TypeFor[MK]().Size()) // in entries, and in order
	t.base = func(b *mapBucket[MK, V]) *bucket { return &b.bucket }
	t.fresh = func() *mapBucket[MK, V] { return &mapBucket[MK, V]{entries: make(map[MK]*cell[V])} }
	t.load, t.trim = t.loadEntry, t.trimEntries
	typ := fmt.Sprintf("map of %s (version %d) to %s", keys.Type(), keys.Version(), codec.Type())
	desc := StateDesc{Name: name, Kind: "map", Type: typ, Version: codec.Version(), Schema: mapSchema(keys, codec)}
	if err := t.declare(ctx, t, desc, codec); err != nil {
		return t, err
	}
	var err error
	t.ttl, err = newExpiry(ctx, name, ttl, t.clear)
	return t, err
}

func (t *MapState[MK, V]) loadEntry(b *mapBucket[MK, V], space, value []byte) error {
	mk, err := t.keys.Decode(space)
	if err != nil {
		return fmt.Errorf("decoding a map key: %w", err)
	}
	v, err := t.codec.Decode(value)
	if err != nil {
		return fmt.Errorf("map key %v: decoding: %w", mk, err)
	}
	b.entries[mk] = loadCell(b.key+string(space), len(space), &b.bucket, v)
	return nil
}

func (t *MapState[MK, V]) trimEntries(b *mapBucket[MK, V]) {
	for _, mk := range b.dead {
		if c := b.entries[mk]; c != nil && c.state() != stLive {
			delete(b.entries, mk)
			t.grow(&b.bucket, -1, c.outside())
		}
	}
	if len(b.dead) > 0 && b.order != nil {
		b.own()
		b.order = slices.DeleteFunc(b.order, func(mk MK) bool { return b.entries[mk] == nil })
	}
	clear(b.dead)
	b.dead = b.dead[:0]
}

// Get returns the value of a key of the current key's map; ok is false if there is none. The error is the store's.
func (t *MapState[MK, V]) Get(mk MK) (v V, ok bool, err error) {
	if err := t.ttl.enter(); err != nil {
		return v, false, err
	}
	b, err := t.open(false)
	if b == nil {
		return v, false, err
	}
	c := b.entries[mk]
	if c == nil || c.state() != stLive {
		return v, false, nil
	}
	return c.v[c.epoch&1], true, t.ttl.leave(true, false)
}

// Put sets a value in the current key's map. The error is the store's or the key codec's.
func (t *MapState[MK, V]) Put(mk MK, v V) error {
	if err := t.ttl.enter(); err != nil {
		return err
	}
	b, err := t.open(true)
	if err != nil {
		return err
	}
	base := t.change(b)
	c := b.entries[mk]
	if c == nil {
		if c, err = t.add(b, mk); err != nil {
			return err
		}
		b.entries[mk] = c
		t.grow(base, 1, c.outside())
		if b.order != nil {
			b.own()
			b.order = slices.Insert(b.order, b.search(c.space()), mk)
		}
	}
	if c.state() != stLive {
		b.live++
	}
	if n := t.put(c, v); n != c {
		b.entries[mk] = n
	}
	return t.ttl.leave(true, true)
}

// add makes the cell of a new entry.
func (t *MapState[MK, V]) add(b *mapBucket[MK, V], mk MK) (c *cell[V], err error) {
	if mk != mk {
		return nil, fmt.Errorf("state %q: key %q: the map key %v does not equal itself", t.desc.Name, b.key, mk)
	}
	if t.name, err = t.keys.Append(append(t.name[:0], b.key...), mk); err != nil {
		return nil, fmt.Errorf("state %q: key %q: encoding a map key: %w", t.desc.Name, b.key, err)
	}
	if t.again {
		if back, err := t.keys.Decode(t.name[len(b.key):]); err != nil || back != mk {
			return nil, fmt.Errorf("state %q: key %q: the map key %v does not equal what is read back of it: a time needs .UTC()", t.desc.Name, b.key, mk)
		}
	}
	n := len(t.name) - len(b.key)
	if n > math.MaxUint16 {
		return nil, fmt.Errorf("state %q: key %q: a map key of %d bytes (at most %d)", t.desc.Name, b.key, n, math.MaxUint16)
	}
	return newCell[V](borrow(t.name), n, &b.bucket), nil
}

// Delete removes an entry of the current key's map. The error is the store's.
func (t *MapState[MK, V]) Delete(mk MK) error {
	if err := t.ttl.enter(); err != nil {
		return err
	}
	b, err := t.open(false)
	if b == nil {
		return err
	}
	c := b.entries[mk]
	if c == nil || c.state() != stLive {
		return nil
	}
	t.change(b)
	if n := t.kill(c); n != c {
		b.entries[mk] = n
	}
	b.live--
	b.dead = append(b.dead, mk)
	t.emptied(b)
	if b.live == 0 {
		return t.ttl.emptied()
	}
	return t.ttl.leave(true, true)
}

// clear deletes all entries of the current key's map.
func (t *MapState[MK, V]) clear() error {
	return t.All(func(mk MK, _ V) error { return t.Delete(mk) })
}

// Len is the number of entries of the current key's map. The error is the store's.
func (t *MapState[MK, V]) Len() (int, error) {
	if err := t.ttl.enter(); err != nil {
		return 0, err
	}
	b, err := t.open(false)
	if b == nil {
		return 0, err
	}
	return b.live, t.ttl.leave(b.live > 0, false)
}

// All calls fn for each entry of the current key's map, in the order of their encoded keys, until it returns an error. It
// may put and delete entries meanwhile; new ones are not seen.
func (t *MapState[MK, V]) All(fn func(MK, V) error) error {
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
	return b.walk(fn)
}

// own makes the order one that may be changed.
func (b *mapBucket[MK, V]) own() {
	if b.walked {
		b.order, b.walked = slices.Clone(b.order), false
	}
}

// search is the place of the first key in the order whose encoded form is not less than space.
func (b *mapBucket[MK, V]) search(space string) int {
	if n := len(b.order); n == 0 || b.entries[b.order[n-1]].space() < space {
		return n // keys that grow, such as times
	}
	i, _ := slices.BinarySearchFunc(b.order, space, func(mk MK, space string) int {
		return strings.Compare(b.entries[mk].space(), space)
	})
	return i
}

// sort makes the order, if there is none yet.
func (b *mapBucket[MK, V]) sort() {
	if b.order != nil {
		return
	}
	b.order = make([]MK, 0, len(b.entries))
	for mk := range b.entries {
		b.order = append(b.order, mk)
	}
	slices.SortFunc(b.order, func(x, y MK) int {
		return strings.Compare(b.entries[x].space(), b.entries[y].space())
	})
}

// walk calls fn for each entry in order, until it returns an error.
func (b *mapBucket[MK, V]) walk(fn func(MK, V) error) error {
	b.sort()
	if !b.walked {
		b.walked = true
		defer func() { b.walked = false }()
	}
	for _, mk := range b.order {
		if c := b.entries[mk]; c != nil && c.state() == stLive {
			if err := fn(mk, c.v[c.epoch&1]); err != nil {
				return err
			}
		}
	}
	return nil
}

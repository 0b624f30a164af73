package operators

import (
	"encoding/binary"
	"unsafe"
)

// Window is one value for each key and namespace, a number such as the start of a window. As with [Value], what a value
// points to must not be changed in place.
type Window[V any] struct {
	cells[V]
	text []byte // the key and the namespace being looked up
}

// NewWindow declares a window state of the operator. A nil codec is CBOR.
func NewWindow[V any](ctx *Context, name string, codec Codec[V]) (*Window[V], error) {
	if codec == nil {
		codec = CBOR[V](1)
	}
	t := new(Window[V])
	t.init()
	desc, codec, err := described(ctx, name, "window", codec)
	if err != nil {
		return nil, err
	}
	return t, t.declare(ctx, t, desc, codec)
}

// name writes the current key and the namespace one after the other; it is valid until the next call.
func (t *Window[V]) name(ns int64) entryName {
	k := &t.ctx.key
	t.text = appendInt(append(t.text[:0], k.key...), ns)
	return entryName{borrow(t.text), 8, mixed(k.hash, ns), k.group}
}

// Get returns the value of the current key and the namespace; ok is false if there is none. The error is the store's.
func (t *Window[V]) Get(ns int64) (v V, ok bool, err error) {
	return t.get(t.name(ns))
}

// Put sets the value of the current key and the namespace.
func (t *Window[V]) Put(ns int64, v V) error {
	t.set(t.name(ns), v)
	return nil
}

// Delete removes the value of the current key and the namespace. The error is the store's.
func (t *Window[V]) Delete(ns int64) error { return t.remove(t.name(ns)) }

// appendInt appends a number so that bytes sort as numbers do: big endian with the sign bit flipped.
func appendInt(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(n)^1<<63)
}

func intOf(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ 1<<63) }

// borrow reads bytes as a string without copying them: it changes when they do.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

package operators

// Value is one value for each key. Get hands out the value itself: if it points to something, that must not be changed in
// place, since a checkpoint may be reading it; change a copy and Put it.
type Value[V any] struct{ cells[V] }

// NewValue declares a value state of the operator. A nil codec is CBOR.
func NewValue[V any](ctx *Context, name string, codec Codec[V]) (*Value[V], error) {
	if codec == nil {
		codec = CBOR[V](1)
	}
	t := new(Value[V])
	t.init()
	ctx.values = append(ctx.values, t)
	return t, t.declare(ctx, t, StateDesc{Name: name, Kind: "value", Type: codec.Type(), Version: codec.Version()}, codec)
}

// Get returns the current key's value; ok is false if it has none. The error is the store's.
func (t *Value[V]) Get() (v V, ok bool, err error) {
	return t.get(t.name())
}

// Put sets the current key's value.
func (t *Value[V]) Put(v V) error {
	t.set(t.name(), v)
	return nil
}

// Delete removes the current key's value. The error is the store's.
func (t *Value[V]) Delete() error { return t.remove(t.name()) }

func (t *Value[V]) name() entryName {
	k := &t.ctx.key
	return entryName{k.key, 0, k.hash, k.group}
}

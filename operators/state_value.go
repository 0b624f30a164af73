package operators

// Value is one value for each key. Get hands out the value itself: if it points to something, that must not be changed in
// place, since a checkpoint may be reading it; change a copy and Put it.
type Value[V any] struct {
	cells[V]
	ttl *expiry
}

// NewValue declares a value state of the operator. A nil codec is CBOR; a [TTL] lets values expire.
func NewValue[V any](ctx *Context, name string, codec Codec[V], ttl ...TTL) (*Value[V], error) {
	if codec == nil {
		codec = CBOR[V](1)
	}
	t := new(Value[V])
	t.init()
	ctx.values = append(ctx.values, t)
	desc, codec, err := described(ctx, name, "value", codec)
	if err != nil {
		return nil, err
	}
	if err := t.declare(ctx, t, desc, codec); err != nil {
		return t, err
	}
	t.ttl, err = newExpiry(ctx, name, ttl, t.Delete)
	return t, err
}

// Get returns the current key's value; ok is false if it has none. The error is the store's.
func (t *Value[V]) Get() (v V, ok bool, err error) {
	if t.ttl == nil {
		return t.get(t.name())
	}
	if err = t.ttl.enter(); err != nil {
		return v, false, err
	}
	if v, ok, err = t.get(t.name()); err == nil {
		err = t.ttl.leave(ok, false)
	}
	return v, ok, err
}

// Put sets the current key's value.
func (t *Value[V]) Put(v V) error {
	if t.ttl == nil {
		t.set(t.name(), v)
		return nil
	}
	if err := t.ttl.enter(); err != nil {
		return err
	}
	t.set(t.name(), v)
	return t.ttl.leave(true, true)
}

// Delete removes the current key's value. The error is the store's.
func (t *Value[V]) Delete() error {
	if err := t.remove(t.name()); err != nil {
		return err
	}
	return t.ttl.emptied()
}

func (t *Value[V]) name() entryName {
	k := &t.ctx.key
	return entryName{k.key, 0, k.hash, k.group}
}

package pebblestate

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirstream/weir/stream"
)

// Get returns an entry's value; the bytes are the caller's.
func (b *Backend) Get(group stream.KeyGroup, state uint16, key string, namespace []byte) (value []byte, ok bool, err error) {
	if err := b.use(); err != nil {
		return nil, false, err
	}
	defer b.done()
	var room [64]byte
	k := appendKey(room[:0], group, state, key, namespace)
	if o := b.overlay.Load(); o != nil {
		if c, ok := o.get(k); ok {
			return bytes.Clone(c.value), !c.deleted, nil
		}
	}
	if b.absent(k) {
		return nil, false, nil
	}
	return b.ask(bytes.Clone(k))
}

// ask returns what Pebble has of a key. It is apart from Get so that a key which Pebble is not asked for stays off the heap.
func (b *Backend) ask(k []byte) (value []byte, ok bool, err error) {
	v, closer, err := b.db.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		b.missed()
		return nil, false, nil
	}
	if err != nil {
		return nil, false, corruptIf(err)
	}
	value = append(make([]byte, 0, len(v)), v...)
	return value, true, closer.Close()
}

// Scan calls fn for each entry of one key, in order of namespace, until it returns an error. The bytes are valid during
// the call.
func (b *Backend) Scan(group stream.KeyGroup, state uint16, key string, fn func(namespace, value []byte) error) error {
	if err := b.use(); err != nil {
		return err
	}
	defer b.done()
	var room [64]byte
	k := appendKey(room[:0], group, state, key, nil)
	// The overlay first, as in merged.
	if b.overlay.Load() == nil && b.absent(k) {
		return nil
	}
	return b.scan(bytes.Clone(k), fn)
}

// scan is apart from Scan so that a key which Pebble is not asked for stays off the heap.
func (b *Backend) scan(prefix []byte, fn func(namespace, value []byte) error) error {
	found := false
	err := b.merged(func(s *scanner) error {
		return s.prefix(prefix, func(k, value []byte) error {
			found = true
			return fn(k[len(prefix):], value)
		})
	})
	if err == nil && !found {
		b.missed()
	}
	return err
}

// ScanState calls fn for each entry of a state in a range of key groups, in order of key group, until it returns an error.
// The bytes are valid during the call, the string for ever.
func (b *Backend) ScanState(groups stream.KeyGroupRange, state uint16, fn func(group stream.KeyGroup, key string, namespace, value []byte) error) error {
	if b.Empty(state) {
		return nil
	}
	return b.merged(func(s *scanner) error {
		for g := groups.First; g <= groups.Last; g++ {
			err := s.prefix(appendState(nil, stream.KeyGroup(g), state), func(k, value []byte) error {
				group, _, key, namespace, err := splitKey(k)
				if err != nil {
					return err
				}
				return fn(group, string(key), namespace, value)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Backend) merged(fn func(*scanner) error) error {
	if err := b.use(); err != nil {
		return err
	}
	defer b.done()
	// The overlay first: a base takes it away only when Pebble has what is in it.
	s := scanner{}
	if o := b.overlay.Load(); o != nil {
		s.overlay = o.sorted()
	}
	it, err := b.db.NewIter(nil)
	if err != nil {
		return corruptIf(err)
	}
	s.it = it
	err = fn(&s)
	return errors.Join(err, corruptIf(it.Close()))
}

// scanner walks through Pebble and the overlay side by side; of two entries of one key the overlay's counts.
type scanner struct {
	it      *pebble.Iterator
	overlay *changes
	end     []byte
}

// prefix calls fn for each entry whose key begins with prefix, in order.
func (s *scanner) prefix(prefix []byte, fn func(key, value []byte) error) error {
	s.end = prefixEnd(s.end[:0], prefix)
	upper := s.end
	if len(upper) == 0 {
		upper = nil
	}
	s.it.SetBounds(prefix, upper)
	below, i := s.it.First(), 0
	if s.overlay != nil {
		i = s.overlay.search(prefix)
	}
	for {
		var over change
		above := false
		if s.overlay != nil && i < s.overlay.len() {
			over = s.overlay.at(i)
			above = bytes.HasPrefix(over.key, prefix)
		}
		order := 1
		switch {
		case !above && !below:
			return s.failed()
		case above && below:
			order = bytes.Compare(over.key, s.it.Key())
		case above:
			order = -1
		}
		if order > 0 {
			value, err := s.it.ValueAndErr()
			if err != nil {
				return corruptIf(err)
			}
			if err := fn(s.it.Key(), value); err != nil {
				return err
			}
			below = s.it.Next()
			continue
		}
		if !over.deleted {
			if err := fn(over.key, over.value); err != nil {
				return err
			}
		}
		i++
		if order == 0 {
			below = s.it.Next()
		}
	}
}

func (s *scanner) failed() error {
	if err := s.it.Error(); err != nil {
		return fmt.Errorf("reading state: %w", corruptIf(err))
	}
	return nil
}

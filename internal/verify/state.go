package verify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/stream"
)

// store is an [operators.StateStore] for all operators of the loop: what does not fit into memory, in the temporary
// database. Keys are
//
//	| 's' | state (2) | key group (2) | length of key, uvarint | key | namespace |
type store struct {
	db     *pebble.DB
	states []owned
	// empty says of each state that nothing of it was ever written.
	empty   []bool
	applied int64
	// keyGroups is how many the job has.
	keyGroups int
	// restored is a savepoint's state, nil if there is none. A state is copied when its operator declares it.
	restored *pebblestate.Backend
	name     []byte
}

type owned struct {
	operator string
	desc     operators.StateDesc
}

func (s *store) prefix(state uint16, group stream.KeyGroup) []byte {
	s.name = binary.BigEndian.AppendUint16(append(s.name[:0], stateSpace), state)
	s.name = binary.BigEndian.AppendUint16(s.name, uint16(group))
	return s.name
}

func (s *store) full(state uint16, group stream.KeyGroup, key string, namespace []byte) []byte {
	s.name = append(binary.AppendUvarint(s.prefix(state, group), uint64(len(key))), key...)
	s.name = append(s.name, namespace...)
	return s.name
}

// StateID implements [operators.StateStore].
func (s *store) StateID(operator string, desc operators.StateDesc) (uint16, error) {
	for i, o := range s.states {
		if o.operator == operator && o.desc.Name == desc.Name {
			return uint16(i), nil
		}
	}
	id := uint16(len(s.states))
	s.states, s.empty = append(s.states, owned{operator, desc}), append(s.empty, true)
	if s.restored == nil {
		return id, nil
	}
	was, err := s.restored.StateID(operator, pebblestate.StateDesc(desc))
	if err != nil {
		return id, err
	}
	batch := s.db.NewBatch()
	all := stream.KeyGroupRange{First: 0, Last: s.keyGroups - 1}
	err = s.restored.ScanState(all, was, func(group stream.KeyGroup, key string, namespace, value []byte) error {
		return changes{s, batch}.Put(group, id, key, namespace, value)
	})
	if err != nil {
		return id, fmt.Errorf("state %q of operator %q: %w", desc.Name, operator, err)
	}
	return id, batch.Commit(pebble.NoSync)
}

// Get implements [operators.StateStore].
func (s *store) Get(group stream.KeyGroup, state uint16, key string, namespace []byte) ([]byte, bool, error) {
	v, closer, err := s.db.Get(s.full(state, group, key, namespace))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return append([]byte{}, v...), true, closer.Close()
}

// Scan implements [operators.StateStore].
func (s *store) Scan(group stream.KeyGroup, state uint16, key string, fn func(namespace, value []byte) error) error {
	prefix := append([]byte(nil), s.full(state, group, key, nil)...)
	return s.each(prefix, func(rest, value []byte) error { return fn(rest, value) })
}

// ScanState implements [operators.StateStore].
func (s *store) ScanState(groups stream.KeyGroupRange, state uint16, fn func(stream.KeyGroup, string, []byte, []byte) error) error {
	prefix := append([]byte(nil), s.prefix(state, 0)[:3]...)
	return s.each(prefix, func(rest, value []byte) error {
		group := stream.KeyGroup(binary.BigEndian.Uint16(rest))
		if !groups.Contains(group) {
			return nil
		}
		n, size := binary.Uvarint(rest[2:])
		from := 2 + size
		return fn(group, string(rest[from:from+int(n)]), rest[from+int(n):], value)
	})
}

func (s *store) each(prefix []byte, fn func(rest, value []byte) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err == nil {
			err = fn(it.Key()[len(prefix):], v)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

// after is the first key that does not begin with prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// Empty implements [operators.StateStore].
func (s *store) Empty(state uint16) bool { return s.empty[state] }

// Applied implements [operators.StateStore].
func (s *store) Applied() int64 { return s.applied }

// Lacks implements [operators.StateStore].
func (s *store) Lacks() (since, upTo int64) { return s.applied, s.applied }

// spill writes what has changed in the tables to the database and makes them smaller, if together they have more than budget
// bytes.
func (s *store) spill(tables []operators.Table, budget int64) error {
	var total int64
	for _, t := range tables {
		total += t.Bytes()
	}
	if total <= budget {
		return nil
	}
	batch := s.db.NewBatch()
	for _, t := range tables {
		if f := t.Freeze(s.applied + 1); f != nil {
			if err := f.Encode(changes{s, batch}); err != nil {
				return err
			}
		}
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("temporary database: %w", err)
	}
	s.applied++
	for _, t := range tables {
		t.Evict(int64(float64(t.Bytes())*float64(budget)/2/float64(total)), math.MaxInt)
	}
	return nil
}

// changes is a batch of the store as an [operators.ChangeWriter].
type changes struct {
	s *store
	b *pebble.Batch
}

// Put implements [operators.ChangeWriter].
func (c changes) Put(group stream.KeyGroup, state uint16, key string, namespace, value []byte) error {
	c.s.empty[state] = false
	return c.b.Set(c.s.full(state, group, key, namespace), value, nil)
}

// Delete implements [operators.ChangeWriter].
func (c changes) Delete(group stream.KeyGroup, state uint16, key string, namespace []byte) error {
	return c.b.Delete(c.s.full(state, group, key, namespace), nil)
}

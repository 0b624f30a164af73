package operatortest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// Store is an [operators.StateStore] in memory. The zero value is empty and ready.
type Store struct {
	descs   []operators.StateDesc // by number, from 1
	owners  []string
	entries map[entryKey][]byte
	applied int64
	reads   int
}

type entryKey struct {
	group     stream.KeyGroup
	state     uint16
	key       string
	namespace string
}

func compareEntries(a, b entryKey) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.state, b.state), cmp.Compare(a.key, b.key), cmp.Compare(a.namespace, b.namespace))
}

// StateID implements [operators.StateStore].
func (s *Store) StateID(operator string, desc operators.StateDesc) (uint16, error) {
	for i, d := range s.descs {
		if s.owners[i] == operator && d.Name == desc.Name {
			if d != desc {
				return 0, fmt.Errorf("state %q of operator %q was %+v and is %+v now", desc.Name, operator, d, desc)
			}
			return uint16(i + 1), nil
		}
	}
	s.descs, s.owners = append(s.descs, desc), append(s.owners, operator)
	return uint16(len(s.descs)), nil
}

// Get implements [operators.StateStore].
func (s *Store) Get(group stream.KeyGroup, state uint16, key string, namespace []byte) ([]byte, bool, error) {
	s.reads++
	v, ok := s.entries[entryKey{group, state, key, string(namespace)}]
	return slices.Clone(v), ok, nil
}

// Scan implements [operators.StateStore].
func (s *Store) Scan(group stream.KeyGroup, state uint16, key string, fn func(namespace, value []byte) error) error {
	s.reads++
	for _, k := range s.sorted() {
		if k.group == group && k.state == state && k.key == key {
			if err := fn([]byte(k.namespace), s.entries[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// ScanState implements [operators.StateStore].
func (s *Store) ScanState(groups stream.KeyGroupRange, state uint16, fn func(stream.KeyGroup, string, []byte, []byte) error) error {
	for _, k := range s.sorted() {
		if groups.Contains(k.group) && k.state == state {
			if err := fn(k.group, k.key, []byte(k.namespace), s.entries[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Empty implements [operators.StateStore].
func (s *Store) Empty(state uint16) bool {
	for k := range s.entries {
		if k.state == state {
			return false
		}
	}
	return true
}

// Applied implements [operators.StateStore].
func (s *Store) Applied() int64 { return s.applied }

// Lacks implements [operators.StateStore].
func (s *Store) Lacks() (since, upTo int64) { return s.applied, s.applied }

// Len is the number of entries of all states.
func (s *Store) Len() int { return len(s.entries) }

func (s *Store) sorted() []entryKey {
	return slices.SortedFunc(maps.Keys(s.entries), compareEntries)
}

func (s *Store) clone() *Store {
	return &Store{descs: slices.Clone(s.descs), owners: slices.Clone(s.owners), entries: maps.Clone(s.entries), applied: s.applied}
}

// write is the store as an [operators.ChangeWriter].
type write struct{ s *Store }

func (w write) Put(group stream.KeyGroup, state uint16, key string, namespace, value []byte) error {
	if w.s.entries == nil {
		w.s.entries = map[entryKey][]byte{}
	}
	w.s.entries[cloned(group, state, key, namespace)] = slices.Clone(value)
	return nil
}

func (w write) Delete(group stream.KeyGroup, state uint16, key string, namespace []byte) error {
	delete(w.s.entries, cloned(group, state, key, namespace))
	return nil
}

func cloned(group stream.KeyGroup, state uint16, key string, namespace []byte) entryKey {
	return entryKey{group, state, string([]byte(key)), string(namespace)}
}

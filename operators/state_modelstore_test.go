package operators

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirstream/weir/stream"
)

// modelStore is a StateStore of sorted strings.
type modelStore struct {
	mu      sync.Mutex
	states  []string
	entries map[string]string
	applied atomic.Int64
	added   atomic.Int64   // the newest checkpoint whose changes are encoded
	begun   int64          // the last checkpoint that was applied, or is about to be
	deltas  []encodeResult // encoded and not applied
	based   int            // how many of them a base that has begun is of
}

func storeKey(group stream.KeyGroup, state uint16, key string, space []byte) string {
	b := binary.BigEndian.AppendUint16(nil, uint16(group))
	b = binary.BigEndian.AppendUint16(b, state)
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	return string(b) + key + string(space)
}

func (s *modelStore) StateID(operator string, desc StateDesc) (uint16, error) {
	name := operator + "/" + desc.Name
	if i := slices.Index(s.states, name); i >= 0 {
		return uint16(i), nil
	}
	s.states = append(s.states, name)
	return uint16(len(s.states) - 1), nil
}

func (s *modelStore) Get(group stream.KeyGroup, state uint16, key string, space []byte) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.entries[storeKey(group, state, key, space)]
	return []byte(v), ok, nil
}

func (s *modelStore) Scan(group stream.KeyGroup, state uint16, key string, fn func(space, value []byte) error) error {
	prefix := storeKey(group, state, key, nil)
	for _, k := range s.sorted(prefix) {
		if err := fn([]byte(k[len(prefix):]), []byte(s.entries[k])); err != nil {
			return err
		}
	}
	return nil
}

func (s *modelStore) ScanState(groups stream.KeyGroupRange, state uint16, fn func(stream.KeyGroup, string, []byte, []byte) error) error {
	for g := groups.First; g <= groups.Last; g++ {
		prefix := storeKey(stream.KeyGroup(g), state, "", nil)[:4]
		for _, k := range s.sorted(prefix) {
			n := int(binary.BigEndian.Uint16([]byte(k[4:])))
			if err := fn(stream.KeyGroup(g), k[6:6+n], []byte(k[6+n:]), []byte(s.entries[k])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *modelStore) sorted(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for k := range s.entries {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s *modelStore) Empty(state uint16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.entries {
		if binary.BigEndian.Uint16([]byte(k[2:])) == state {
			return false
		}
	}
	return true
}

func (s *modelStore) Applied() int64 { return s.applied.Load() }

func (s *modelStore) Lacks() (since, upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun, max(s.added.Load(), s.applied.Load())
}

func (s *modelStore) apply(d modelDelta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range d {
		if v == nil {
			delete(s.entries, k)
		} else {
			s.entries[k] = *v
		}
	}
}

// modelDelta is a ChangeWriter; nil is a deletion.
type modelDelta map[string]*string

func (d modelDelta) Put(group stream.KeyGroup, state uint16, key string, space, value []byte) error {
	v := string(value)
	return d.add(storeKey(group, state, key, space), &v)
}

func (d modelDelta) Delete(group stream.KeyGroup, state uint16, key string, space []byte) error {
	return d.add(storeKey(group, state, key, space), nil)
}

func (d modelDelta) add(k string, v *string) error {
	if _, ok := d[k]; ok {
		return fmt.Errorf("%q comes twice", k)
	}
	d[k] = v
	return nil
}

// add takes the changes of a checkpoint, for a base to come.
func (s *modelStore) add(d encodeResult) {
	s.deltas = append(s.deltas, d)
	s.added.Store(d.checkpoint)
}

// base begins a base of all deltas, or ends the one that has begun.
func (s *modelStore) base() {
	if s.based == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.based, s.begun = len(s.deltas), max(s.added.Load(), s.applied.Load())
		return
	}
	for _, d := range s.deltas[:s.based] {
		s.apply(d.delta)
		s.applied.Store(d.checkpoint)
	}
	s.deltas, s.based = slices.Clone(s.deltas[s.based:]), 0
}

// applyAll ends the base that has begun, if one has, and makes one of the rest.
func (s *modelStore) applyAll() {
	for s.based > 0 || len(s.deltas) > 0 {
		s.base()
	}
}

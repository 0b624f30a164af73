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
	added   atomic.Int64 // the newest checkpoint whose changes are encoded
	based   bool         // something was applied, or begins to be
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

// Deleted is beyond Applied while the store has never had an entry: the next base then holds all that was added.
func (s *modelStore) Deleted() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 && !s.based {
		return max(s.added.Load(), s.applied.Load())
	}
	return s.applied.Load()
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

// begin says that n deltas are about to be applied.
func (s *modelStore) begin(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.based = s.based || n > 0
}

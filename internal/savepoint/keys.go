package savepoint

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/stream"
)

// Listing is some entries of a state.
type Listing struct {
	Operator string `json:"operator"`
	checkpoint.State
	Entries []Entry `json:"entries"`
	// More: there are further entries, which the limit left out.
	More bool `json:"more"`
}

// Entry is one entry of a state.
type Entry struct {
	Key   Key             `json:"key"`
	Group stream.KeyGroup `json:"key_group"`
	Text
	// Bytes is the size of the value.
	Bytes int `json:"bytes"`
}

// NoStateError says that a savepoint has no such state, and lists those that it has.
type NoStateError struct {
	Location, Name string
	Has            []string
}

func (e *NoStateError) Error() string {
	has := "it has no state at all"
	if len(e.Has) > 0 {
		has = "it has " + strings.Join(e.Has, ", ")
	}
	return fmt.Sprintf("savepoint %s has no state %q (OPERATOR/STATE): %s", e.Location, e.Name, has)
}

// find returns the state that a user names as OPERATOR/STATE, or as OPERATOR if that has one only.
func (s *Savepoint) find(name string) (string, checkpoint.State, error) {
	var has []string
	for _, o := range s.Pointer().Operators {
		for _, st := range o.States {
			full := o.Name + "/" + st.Name
			if name == full || name == o.Name && len(o.States) == 1 {
				return o.Name, st, nil
			}
			has = append(has, full)
		}
	}
	return "", checkpoint.State{}, &NoStateError{s.Location, name, has}
}

// Keys lists entries of a state, in order of key group, key and namespace: those of one key if it is not nil, and at most
// limit. The error is a *NoStateError if there is no such state.
func Keys(ctx context.Context, s *Savepoint, scratch, state string, key *Key, limit int) (_ *Listing, err error) {
	operator, st, err := s.find(state)
	if err != nil {
		return nil, err
	}
	view, err := s.State(ctx, scratch)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := view.Close(); err == nil {
			err = closed
		}
	}()
	var entries iter.Seq2[pebblestate.Entry, error]
	if key == nil {
		entries = view.Entries(ctx, st.ID)
	} else {
		entries = view.Key(ctx, stream.KeyGroupOf([]byte(*key), s.Pointer().KeyGroups), st.ID, string(*key))
	}
	l := &Listing{Operator: operator, State: st, Entries: []Entry{}}
	d := newDecoder(st)
	for e, err := range entries {
		if err != nil {
			return nil, s.errorOf(operator, st.Name, err)
		}
		if len(l.Entries) == limit {
			l.More = true
			break
		}
		l.Entries = append(l.Entries, Entry{Key(e.Key), e.Group, d.text(e.Namespace, e.Value), len(e.Value)})
	}
	return l, nil
}

func (s *Savepoint) errorOf(operator, state string, err error) error {
	return fmt.Errorf("savepoint %s: state %s/%s: %w", s.Location, operator, state, err)
}

package pebblestate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// StateDesc describes a state, for the check at restore.
type StateDesc struct {
	Name, Kind, Type string
	Version          int
}

// State is a state with its number in keys and the operator it belongs to.
type State struct {
	ID       uint16
	Operator string
	StateDesc
}

// states gives out the numbers of states. A number is never given to another state, also if its own is gone.
type states struct {
	mu      sync.Mutex
	list    []State
	claimed map[uint16]bool
	next    int
}

func newStates(restored []State) (*states, error) {
	s := &states{list: slices.Clone(restored), claimed: make(map[uint16]bool)}
	ids, names := make(map[uint16]State), make(map[[2]string]bool)
	for _, r := range restored {
		if other, ok := ids[r.ID]; ok {
			return nil, fmt.Errorf("%w: states %q of operator %q and %q of operator %q have the same number %d",
				ErrCorrupt, other.Name, other.Operator, r.Name, r.Operator, r.ID)
		}
		if names[[2]string{r.Operator, r.Name}] {
			return nil, fmt.Errorf("%w: operator %q has state %q twice", ErrCorrupt, r.Operator, r.Name)
		}
		ids[r.ID], names[[2]string{r.Operator, r.Name}] = r, true
		s.next = max(s.next, int(r.ID)+1)
	}
	return s, nil
}

// id finds or adds a state.
func (s *states) id(operator string, desc StateDesc) (uint16, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.list {
		if r.Operator != operator || r.Name != desc.Name {
			continue
		}
		if err := fits(operator, r.StateDesc, desc); err != nil {
			return 0, err
		}
		s.claimed[r.ID] = true
		return r.ID, nil
	}
	if s.next > math.MaxUint16 {
		return 0, fmt.Errorf("operator %q: state %q: all %d state numbers are used", operator, desc.Name, math.MaxUint16+1)
	}
	id := uint16(s.next)
	s.next++
	s.list = append(s.list, State{id, operator, desc})
	s.claimed[id] = true
	return id, nil
}

// fits checks that a state is declared as it was written.
func fits(operator string, was, is StateDesc) error {
	switch {
	case was.Kind != is.Kind:
		return fmt.Errorf("%w: operator %q: state %q is a %s in the checkpoint and a %s in the job", ErrMismatch, operator, is.Name, was.Kind, is.Kind)
	case was.Type != is.Type:
		return fmt.Errorf("%w: operator %q: state %q has type %q in the checkpoint and %q in the job", ErrMismatch, operator, is.Name, was.Type, is.Type)
	case was.Version != is.Version:
		return fmt.Errorf("%w: operator %q: state %q has version %d in the checkpoint and %d in the job", ErrMismatch, operator, is.Name, was.Version, is.Version)
	}
	return nil
}

// all lists the states by number; unclaimed only those that no operator has asked for.
func (s *states) all(unclaimed bool) []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []State
	for _, r := range s.list {
		if !unclaimed || !s.claimed[r.ID] {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b State) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

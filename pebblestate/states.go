package pebblestate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/weirstream/weir/checkpoint"
)

// StateDesc describes a state, for the check at restore.
type StateDesc struct {
	Name, Kind, Type string
	Version          int
	// Schema describes the values; empty if the codec does not say.
	Schema string
}

// State is a state with its number in keys and the operator it belongs to.
type State struct {
	ID       uint16
	Operator string
	StateDesc
}

// states gives out the numbers of states. A number is never given to another state, also if its own is gone.
type states struct {
	mu   sync.Mutex
	list []State
	next int
}

// newStates begins with the restored states; the numbers of dropped ones stay taken.
func newStates(restored []State, dropped []uint16) (*states, error) {
	s := &states{list: slices.Clone(restored)}
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
	for _, id := range dropped {
		if r, ok := ids[id]; ok {
			return nil, fmt.Errorf("%w: state %q of operator %q has the number %d of a dropped one", ErrCorrupt, r.Name, r.Operator, id)
		}
		s.next = max(s.next, int(id)+1)
	}
	return s, nil
}

// id finds or adds a state.
func (s *states) id(operator string, desc StateDesc) (uint16, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		r := &s.list[i]
		if r.Operator != operator || r.Name != desc.Name {
			continue
		}
		if err := fits(operator, r.StateDesc, desc); err != nil {
			return 0, err
		}
		// What is written from now on is as the job declares it; the schema keeps what older values have.
		desc.Schema = checkpoint.JoinSchemas(r.Schema, desc.Schema)
		r.StateDesc = desc
		return r.ID, nil
	}
	if s.next > math.MaxUint16 {
		return 0, fmt.Errorf("operator %q: state %q: all %d state numbers are used", operator, desc.Name, math.MaxUint16+1)
	}
	id := uint16(s.next)
	s.next++
	s.list = append(s.list, State{id, operator, desc})
	return id, nil
}

// schema is that of a state, with what values of earlier versions of the job have; empty if it is not known.
func (s *states) schema(operator, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.list {
		if r.Operator == operator && r.Name == name {
			return r.Schema
		}
	}
	return ""
}

// fits checks that what was written can be read as it is declared.
func fits(operator string, was, is StateDesc) error {
	findings := checkpoint.CheckState(was.state(), is.state())
	if len(findings) == 0 {
		return nil
	}
	return fmt.Errorf("%w: operator %q: state %q: %s", ErrMismatch, operator, is.Name, strings.Join(findings, "; "))
}

func (d StateDesc) state() checkpoint.State {
	return checkpoint.State{Name: d.Name, Kind: d.Kind, Type: d.Type, Version: d.Version, Schema: d.Schema}
}

// all lists the states by number.
func (s *states) all() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.list)
	slices.SortFunc(out, func(a, b State) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Schema describes the values of a state that was restored or declared, with what older ones have; empty if it is not
// known.
func (b *Backend) Schema(operator, state string) string { return b.states.schema(operator, state) }

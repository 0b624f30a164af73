package operatortest

import (
	"fmt"
	"slices"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// TB is what a harness needs of a *testing.T. With nil, as in an example, what is wrong is a panic.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Option changes how a harness is made: [Parallelism], or a [Side] that is to be read.
type Option interface{ apply(*config) }

type config struct {
	parallelism int
	sides       map[string]func(*core) any
}

func newConfig(opts []Option) config {
	c := config{parallelism: 1, sides: map[string]func(*core) any{}}
	for _, o := range opts {
		o.apply(&c)
	}
	return c
}

// Parallelism divides the keys among n instances of the operator, as a job does among subtasks. Which instance emits first
// at a watermark is then not said.
type Parallelism int

func (n Parallelism) apply(c *config) { c.parallelism = int(n) }

// Side reads a side output: it is an [Option] of the harness whose operator writes it.
type Side[T any] struct {
	tag    operators.Tag[T]
	events []stream.Event[T]
}

// NewSide makes a reader of the tag's side output.
func NewSide[T any](tag operators.Tag[T]) *Side[T] { return &Side[T]{tag: tag} }

// Output returns what the side output was given since the last call.
func (s *Side[T]) Output() []stream.Event[T] {
	out := s.events
	s.events = nil
	return out
}

func (s *Side[T]) apply(c *config) {
	c.sides[s.tag.Name] = func(h *core) any {
		return stream.Emit[T](func(ev *stream.Event[T]) error {
			s.events = append(s.events, kept(ev))
			h.note("side "+s.tag.Name+" ", describe(ev))
			return nil
		})
	}
}

// kept is a copy of an event that may be kept.
func kept[T any](ev *stream.Event[T]) stream.Event[T] {
	k := *ev
	k.Key, k.Headers = slices.Clone(ev.Key), slices.Clone(ev.Headers)
	return k
}

func describe[T any](ev *stream.Event[T]) string {
	s := fmt.Sprintf("%s@%d %+v", ev.Key, ev.Timestamp, ev.Value)
	for _, h := range ev.Headers {
		s += fmt.Sprintf(" %s=%s", h.Key, h.Value)
	}
	return s
}

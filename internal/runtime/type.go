package runtime

import (
	"sync"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// Type is what the engine must be able to do with the events of one Go type. It is generic code made when the job is
// described, so that nothing on the path of a record needs reflection. In its functions, an emit is a stream.Emit[T].
type Type struct {
	// discard is an emit for output that nobody reads.
	discard any
	// fanOut makes one emit of several.
	fanOut func(outs []any) any
	// sender makes an emit that spreads events over the channels of an exchange, and a function that sends what it buffers.
	sender func(to []*channel, route route) (emit any, flush func() error)
	// receiver makes the function that hands the events of a message to emit, some at a time to prefetch before: a
	// func([]stream.Event[T]), or nil.
	receiver func(emit, prefetch any) func(data any) error
	// tap makes an emit that tells of each event before and after it hands it on (plain.go).
	tap func(emit any, before func(key []byte, timestamp int64) error, after func()) any
}

// batchSize is how many events an exchange gathers at most before it hands them on; see gate.gather.
const batchSize = 256

type batch[T any] struct{ events []stream.Event[T] }

// TypeOf returns the Type of T.
func TypeOf[T any]() *Type {
	pool := &sync.Pool{New: func() any { return &batch[T]{events: make([]stream.Event[T], 0, batchSize)} }}
	return &Type{
		discard: stream.Emit[T](func(*stream.Event[T]) error { return nil }),
		fanOut: func(outs []any) any {
			emits := make([]stream.Emit[T], len(outs))
			for i, o := range outs {
				emits[i] = o.(stream.Emit[T])
			}
			return stream.Emit[T](func(ev *stream.Event[T]) error {
				// Each branch gets a copy: the one before it may have changed the event.
				for _, emit := range emits[:len(emits)-1] {
					c := *ev
					if err := emit(&c); err != nil {
						return err
					}
				}
				return emits[len(emits)-1](ev)
			})
		},
		tap: func(emit any, before func([]byte, int64) error, after func()) any {
			e := emit.(stream.Emit[T])
			return stream.Emit[T](func(ev *stream.Event[T]) error {
				defer after()
				if err := before(ev.Key, ev.Timestamp); err != nil {
					return err
				}
				return e(ev)
			})
		},
		sender: func(to []*channel, r route) (any, func() error) {
			s := &sender[T]{to: to, route: r, pool: pool, bufs: make([]*batch[T], len(to))}
			return stream.Emit[T](s.emit), s.flush
		},
		receiver: func(emit, prefetch any) func(any) error {
			e := emit.(stream.Emit[T])
			fetch, _ := prefetch.(func([]stream.Event[T]))
			return func(data any) error {
				b := data.(*batch[T])
				for events := b.events; len(events) > 0; {
					some := events[:min(len(events), operators.PrefetchMost)]
					events = events[len(some):]
					if fetch != nil && len(some) > 1 {
						fetch(some)
					}
					for i := range some {
						if err := e(&some[i]); err != nil {
							return err
						}
					}
				}
				b.events = b.events[:0]
				pool.Put(b)
				return nil
			}
		},
	}
}

// sender is the upstream end of an exchange, of one subtask.
type sender[T any] struct {
	to    []*channel
	route route
	pool  *sync.Pool
	bufs  []*batch[T]
}

func (s *sender[T]) emit(ev *stream.Event[T]) error {
	i := s.route.target(ev.Key, ev.Group, ev.Split, len(s.to))
	b := s.bufs[i]
	if b == nil {
		b = s.pool.Get().(*batch[T])
		s.bufs[i] = b
	}
	b.events = append(b.events, *ev)
	if len(b.events) < int(s.to[i].gate.gather.Load()) {
		return nil
	}
	s.bufs[i] = nil
	return s.to[i].push(message{kind: data, data: b, events: len(b.events)})
}

func (s *sender[T]) flush() error {
	for i, b := range s.bufs {
		if b == nil || len(b.events) == 0 {
			continue
		}
		s.bufs[i] = nil
		if err := s.to[i].push(message{kind: data, data: b, events: len(b.events)}); err != nil {
			return err
		}
	}
	return nil
}

// route says which subtask an event of an exchange goes to.
type route struct {
	mode   routeMode
	groups int // key groups of the job
	from   int // the sending subtask
}

type routeMode int

const (
	// forward: the only target there is.
	forward routeMode = iota
	// byGroup: the subtask that owns the event's key group.
	byGroup
	// spread: by the record's key, so that the order of a key is kept; without one, by the split.
	spread
)

func (r route) target(key []byte, group stream.KeyGroup, split int32, n int) int {
	switch {
	case n == 1 || r.mode == forward:
		return 0
	case r.mode == byGroup:
		return stream.SubtaskOf(group, n, r.groups)
	case key != nil:
		return stream.SubtaskOf(stream.KeyGroupOf(key, r.groups), n, r.groups)
	default:
		return (r.from + int(split)) % n
	}
}

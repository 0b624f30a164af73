package demo

import (
	"slices"
	"sync"
	"time"
)

// numbers are what there is to show.
type numbers struct {
	fed, events int64
	out         int64
	checkpoint  int64
	took        float64 // of the latest checkpoint, in milliseconds
	doing       string
	recoveries  []time.Duration
	down        time.Time // since when the job has been dead; zero if it lives
	notes       []string  // for plain output: what has happened since the last line
}

// state is the numbers of a demonstration that is under way.
type state struct {
	mu  sync.Mutex
	now numbers
}

func (s *state) update(do func(*numbers)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(&s.now)
}

func (s *state) note(line string) { s.update(func(n *numbers) { n.notes = append(n.notes, line) }) }

// take is the numbers at a moment; the notes are handed over with it.
func (s *state) take() numbers {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.now
	n.recoveries = slices.Clone(n.recoveries)
	s.now.notes = nil
	return n
}

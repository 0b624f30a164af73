package source

import (
	"sync"

	"github.com/weirstream/weir/stream"
)

// TimeAlignment keeps the splits of a job's sources close to each other in event time: one that is too far ahead is not read until the
// others have followed. As with Flink's alignment of watermarks (FLIP-182, FLIP-217), what gathers between the splits stays with the
// brokers instead of in the job's state. Unlike there, only splits of which the brokers have more are waited for: a job that keeps up
// holds back nobody, and a split whose clock is wrong waits no longer than until the others have been read to the end of their logs. A
// split without a leader counts as it did before. Nobody waits for one before it has been fetched and its time is known.
//
// It is shared by the readers of a job's sources and by the subtasks that process what they read.
type TimeAlignment struct {
	mu     sync.Mutex
	splits map[alignedKey]*AlignedSplit
	// least is the least time of the splits that are waited for, stream.MaxTime if there are none.
	least int64
	// moved is closed when least moves on, if anybody asked for it.
	moved chan struct{}
}

type alignedKey struct {
	source string
	partitionKey
}

// NewTimeAlignment returns one without splits.
func NewTimeAlignment() *TimeAlignment {
	return &TimeAlignment{splits: map[alignedKey]*AlignedSplit{}, least: stream.MaxTime}
}

// Split returns what the alignment knows of a split, the same for whoever asks. Before Open it neither waits nor is waited for.
func (a *TimeAlignment) Split(source, topic string, partition int32) *AlignedSplit {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := alignedKey{source, partitionKey{topic, partition}}
	s := a.splits[key]
	if s == nil {
		s = &AlignedSplit{a: a, time: stream.MinTime}
		a.splits[key] = s
	}
	return s
}

// movedOn returns a channel that is closed once a split that waits may not have to any more.
func (a *TimeAlignment) movedOn() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.moved == nil {
		a.moved = make(chan struct{})
	}
	return a.moved
}

// look finds the least time anew. The lock is held.
func (a *TimeAlignment) look() {
	least := stream.MaxTime
	for _, s := range a.splits {
		if s.waitedFor() {
			least = min(least, s.time)
		}
	}
	if least != a.least && a.moved != nil {
		close(a.moved)
		a.moved = nil
	}
	a.least = least
}

// AlignedSplit is one split of an alignment, whose mutex guards its fields. Its methods may be called from several goroutines.
type AlignedSplit struct {
	a *TimeAlignment
	// drift is how far it may be ahead, in milliseconds; 0: it is not aligned.
	drift int64
	// time is the greatest event time that was processed, stream.MinTime if nothing was.
	time int64
	// behind: the brokers had more of it at the last fetch.
	behind bool
}

// Open aligns the split: it may be ahead of others by drift, in milliseconds and more than 0. at is how far its event time is,
// [stream.MinTime] if it has not begun.
func (s *AlignedSplit) Open(drift, at int64) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.drift, s.time = drift, at
	s.a.look()
}

// Advance tells the greatest event time that was processed.
func (s *AlignedSplit) Advance(at int64) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	if at <= s.time {
		return
	}
	last := s.time == s.a.least || s.time == stream.MinTime
	if s.time = at; last && s.drift > 0 {
		s.a.look()
	}
}

// setBehind tells whether the brokers have more of it.
func (s *AlignedSplit) setBehind(behind bool) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	if s.behind == behind {
		return
	}
	if s.behind = behind; s.drift > 0 {
		s.a.look()
	}
}

// waitedFor says whether others wait for the split: it is aligned, its time is known, and there is more of it. The lock is held.
func (s *AlignedSplit) waitedFor() bool { return s.drift > 0 && s.behind && s.time != stream.MinTime }

// Waits reports whether the split is too far ahead to be read on.
func (s *AlignedSplit) Waits() bool {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.drift > 0 && s.a.least != stream.MaxTime && s.time > s.a.least && uint64(s.time)-uint64(s.a.least) > uint64(s.drift)
}

// aligned reports whether the split may have to wait at all.
func (s *AlignedSplit) aligned() bool {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.drift > 0
}

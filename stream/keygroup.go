package stream

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// KeyGroup is the unit that keyed state is assigned in. The number of key groups of a job is fixed at its first start.
type KeyGroup uint16

// DefaultKeyGroups is the number of key groups of a job that says nothing.
const DefaultKeyGroups = 128

// KeyGroupOf returns the key group of an encoded key: xxhash64(key) mod groups. The function is part of the state format
// (docs/formats/state-keys.md) and never changes.
func KeyGroupOf(key []byte, groups int) KeyGroup {
	return KeyGroup(xxhash.Sum64(key) % uint64(groups))
}

// HashOf is the upper half of xxhash64(key), which has little to do with the key group.
func HashOf(key []byte) uint32 { return uint32(xxhash.Sum64(key) >> 32) }

// Locate returns KeyGroupOf and HashOf together.
func Locate(key []byte, groups int) (KeyGroup, uint32) {
	h := xxhash.Sum64(key)
	return KeyGroup(h % uint64(groups)), uint32(h >> 32)
}

// KeyGroupRange is the key groups First to Last, both included. It is empty if Last < First.
type KeyGroupRange struct{ First, Last int }

// Contains reports whether g lies in the range.
func (r KeyGroupRange) Contains(g KeyGroup) bool { return int(g) >= r.First && int(g) <= r.Last }

func (r KeyGroupRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// RangeOf returns the key groups of a subtask, as Flink divides them: contiguous, and sizes that differ by one at most.
func RangeOf(subtask, parallelism, groups int) KeyGroupRange {
	return KeyGroupRange{
		First: (subtask*groups + parallelism - 1) / parallelism,
		Last:  ((subtask+1)*groups - 1) / parallelism,
	}
}

// SubtaskOf returns the subtask that a key group belongs to; it is the inverse of [RangeOf].
func SubtaskOf(g KeyGroup, parallelism, groups int) int { return int(g) * parallelism / groups }

// SubtaskID names one parallel instance of an operator.
type SubtaskID struct {
	Operator string
	Index    int
}

func (s SubtaskID) String() string { return fmt.Sprintf("%s/%d", s.Operator, s.Index) }

package doctor

import (
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/weirstream/weir/checkpoint"
)

// StorageProbe is what trying the checkpoint storage gave.
type StorageProbe struct {
	Where string
	// Missing: the directory is not there; Parent is the one above it that is, and ParentErr why nothing can be made in it.
	Missing   bool
	Parent    string
	ParentErr error
	// Err is the first step that did not work, by Step: open, write, list, read, delete.
	Step string
	Err  error
	// Replaces: a second file of the same name was taken, in place of the first.
	Replaces bool
	// Took is how long all steps took, in all.
	Took time.Duration
}

// Storage judges whether checkpoints can be kept. Patience is how long a checkpoint may take.
func Storage(s *StorageProbe, patience time.Duration) []Finding {
	l := list{check: "storage"}
	switch {
	case s.Missing && s.ParentErr != nil:
		l.add(Error, s.Where, "give the directory to the user that runs the job, or set checkpoint.storage", "it is not there and cannot be made in %s: %s", s.Parent, oneLine(s.ParentErr))
	case s.Missing:
		l.add(OK, s.Where, "", "it is not there; the first start makes it in %s", s.Parent)
	case s.Err != nil:
		l.add(Error, s.Where, "the job has to write, list, read and delete files there: owner, mode, space; for a bucket its policy and the keys (docs/storage.md)", "%s: %s", s.Step, oneLine(s.Err))
	case s.Replaces:
		l.add(Warning, s.Where, "write no two savepoints to one place at the same time, or use a service that knows If-None-Match", "a second file of the same name replaces the first: the service does not put a file only if there is none")
	case s.Took > patience/4:
		l.add(Warning, s.Where, "raise checkpoint.timeout, or use a storage that is nearer", "a file of a few bytes was written, listed, read and deleted in %s; checkpoint.timeout is %s", about(s.Took), patience)
	default:
		l.add(OK, s.Where, "", "a file was written, listed, read and deleted in %s", s.Took.Round(time.Millisecond))
	}
	return l.findings
}

// Space is the room on the disk of a directory.
type Space struct {
	// What the directory is for: checkpoint.storage or checkpoint.local_dir.
	What, Path  string
	Free, Total uint64
	Err         error
}

// Disk judges the room for state. State is the size of the last checkpoint, in bytes.
//
// A new base is written beside the one that it replaces, and a directory that is the storage holds files that are about to
// be deleted as well: twice the state, and twice what gathers between bases, which is up to two base_after.
func Disk(s Space, state int64, o *checkpoint.Options) []Finding {
	l := list{check: "disk"}
	subject := s.What + " " + s.Path
	if s.Err != nil {
		return []Finding{Unknown(l.check, subject, s.Err)}
	}
	need := uint64(2*state) + 4*uint64(o.BaseAfter)
	const remedy = "make room, or use another disk"
	switch {
	case s.Free < uint64(o.BaseAfter)/2:
		l.add(Error, subject, remedy, "%s are free: not enough for the changes between two bases (base_after is %s)", humanize.IBytes(s.Free), o.BaseAfter)
	case s.Free < need:
		l.add(Warning, subject, remedy, "%s are free; the state is %s, and a new base is written beside the old one: %s may be needed", humanize.IBytes(s.Free), humanize.IBytes(uint64(state)), humanize.IBytes(need))
	default:
		l.add(OK, subject, "", "%s of %s are free; the state is %s", humanize.IBytes(s.Free), humanize.IBytes(s.Total), humanize.IBytes(uint64(state)))
	}
	return l.findings
}

// MemoryLimits are what the process may use, in bytes; 0 is not known.
type MemoryLimits struct {
	// Group is the limit of the control group (a container's memory limit), Machine the machine's memory.
	Group, Machine int64
	// Go is GOMEMLIMIT, math.MaxInt64 if it is not set.
	Go int64
}

// Overhead is what a job needs beside state and buffers, in bytes; an idle one takes about 40 MB.
const Overhead = 64 << 20

// text is about what the program itself has in memory beside Go's heap and stacks, in bytes.
const text = 40 << 20

// Heap is what Go's runtime may have for a job, in bytes, so that the whole process stays under the budget and a quarter of it,
// or the budget and about 90 MiB if that is more. The budget has shares for all that state needs; what is beside it is for
// buffers of sources and sinks and for garbage. The heap passes the limit by what is allocated while the collector is at work,
// by 25 MB with a budget of 512 MB: so a part of it is left out.
func Heap(o *checkpoint.Options) int64 {
	return int64(o.Memory) + max(int64(o.Memory)/4-text-Overhead/2, Overhead/4*3)
}

// Budget is what a job needs if it uses all that it may, in bytes: its state, the producer's buffers and the program itself.
func Budget(o *checkpoint.Options, buffered int64) int64 {
	return int64(o.Memory) + buffered + Overhead
}

// Memory judges the limits against the budget of the job. It asks for a quarter more than that too: what is alive beyond the
// budget, which Heap does not foresee, needs room.
func Memory(m MemoryLimits, o *checkpoint.Options, buffered int64) []Finding {
	l := list{check: "memory"}
	limit, what := m.Machine, "the machine's memory"
	if m.Group > 0 && (limit == 0 || m.Group < limit) {
		limit, what = m.Group, "the memory limit of this control group"
	}
	if limit == 0 {
		l.add(Note, "checkpoint.memory", "", "not checked: this system does not tell its limit")
		return l.findings
	}
	budget := Budget(o, buffered)
	size := func(n int64) string { return humanize.IBytes(uint64(n)) }
	suggest := fmt.Sprintf("set checkpoint.memory to %s or less, or give it more; set GOMEMLIMIT to nine tenths of the limit", size(max(limit/4, 16<<20)))
	switch {
	case budget > limit:
		l.add(Error, "checkpoint.memory", suggest, "checkpoint.memory %s, producer buffers %s and the program itself are more than %s, %s: the job would be killed when its state grows", o.Memory, size(buffered), what, size(limit))
	case m.Go != math.MaxInt64 && m.Go > limit:
		l.add(Warning, "GOMEMLIMIT", "set it to nine tenths of the limit", "it is %s, more than %s, %s", size(m.Go), what, size(limit))
	case m.Go == math.MaxInt64 && budget+budget/4 > limit:
		l.add(Warning, "checkpoint.memory", suggest, "with checkpoint.memory %s the job may take %s, and %s is %s; GOMEMLIMIT is not set", o.Memory, size(budget+budget/4), what, size(limit))
	default:
		l.add(OK, "checkpoint.memory", "", "%s for state; %s is %s", o.Memory, what, size(limit))
	}
	return l.findings
}

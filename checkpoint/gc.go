package checkpoint

import (
	"context"
	"path"
	"strconv"
	"strings"
)

// Collection is what a collector outside of the job may delete, and why it leaves the rest.
type Collection struct {
	// Delete are files that no pointer lists and no attempt can list any more.
	Delete []Stored
	// Listed are files that a pointer lists; Running those of attempts that may still run, or run yet; Young those that would
	// go but for the grace period; Foreign those whose names are not the engine's.
	Listed, Running, Young, Foreign []Stored
}

// ByShard sorts the files below "<job>/" by the shard that they are of, as [FileName] has it. What is not below a shard, such as
// the files that say who owns the place, is left out.
func ByShard(job string, listed []Stored) map[int][]Stored {
	out := map[int][]Stored{}
	for _, s := range listed {
		rest, below := strings.CutPrefix(s.Name, job+"/")
		number, _, found := strings.Cut(rest, "/")
		shard, err := strconv.Atoi(number)
		if below && found && err == nil && shard >= 0 && strconv.Itoa(shard) == number {
			out[shard] = append(out[shard], s)
		}
	}
	return out
}

// Collect says which files of a shard are garbage, to a collector that is not a part of the job: it has fenced nobody, and the
// job may run, recover or be taken over meanwhile. listed are all files below "<job>/<shard>/"; pointers all that the checkpoint
// partition has, oldest first, at least one; left is the checkpoint that the last one's lineage left behind ([Pointer.Left]), nil
// if there is none, it is gone, or is given up. now and grace are milliseconds.
//
// [Orphans] may count on its own fencing. Here the names have to tell: a file's name holds the checkpoint that its attempt
// uploaded it for. Let L be the last pointer that was read, A its attempt.
//
//  1. An attempt X other than A that has uploaded for, or committed, a checkpoint up to L's, is over. An attempt fences every
//     slot, then reads the last pointer, r, and uploads for r+1 and later; so r < L, and r+1 is committed, by X or by another.
//     Take the first checkpoint c > r that X did not commit: whoever committed it fenced its slot after X did, for if X had
//     fenced that slot between the other's fencing and its commit, the commit would have failed, and if after the commit, X would
//     have read c. X fences only once, so it can not commit c any more, and IDs are dense (rule 2): it can commit nothing. An
//     attempt that was told of an old pointer looks again before its first commit, and ends ([decision 12]).
//  2. A file of such an X that no pointer read here lists is listed by none that follows. A pointer lists files of its own
//     attempt, and those that the pointer before it lists, as its own or as those of the checkpoint that it left behind; X writes no more pointers, and L is the last of the ones before. A
//     lineage that begins from an older checkpoint or a savepoint copies, under the name of its own attempt.
//
// Both hold for any L that was the last pointer at some time: it does no harm if the list is old, if the job commits while
// files are deleted, or if the collector stops in between. A and attempts of which neither is known are left alone, their
// garbage too: the next start of the job deletes it, or a later collection.
//
// The grace period is not needed for any of this. It leaves time to somebody who copies files by hand.
//
// [decision 12]: docs/decisions/0012-a-node-that-leads-no-more.md
func Collect(listed []Stored, pointers []Committed, left *Pointer, now, grace int64) Collection {
	var c Collection
	last := pointers[len(pointers)-1].Pointer
	needed := map[string]bool{}
	first := map[string]int64{} // the least checkpoint that an attempt is known to have worked for
	seen := func(attempt string, checkpoint int64) {
		if was, ok := first[attempt]; !ok || checkpoint < was {
			first[attempt] = checkpoint
		}
	}
	for _, p := range pointers {
		seen(p.Pointer.Attempt, p.Pointer.Checkpoint)
		for _, f := range p.Pointer.AllFiles() {
			needed[f.Name] = true
		}
	}
	if left != nil {
		for _, f := range left.AllFiles() {
			needed[f.Name] = true
		}
	}
	for _, s := range listed {
		if upload, ok := uploadOf(s.Name); ok {
			seen(AttemptOf(s.Name), upload)
		}
	}
	for _, s := range listed {
		attempt := AttemptOf(s.Name)
		began, known := first[attempt]
		_, ours := uploadOf(s.Name)
		ours = ours || strings.HasPrefix(path.Base(s.Name), temporary)
		switch {
		case needed[s.Name]:
			c.Listed = append(c.Listed, s)
		case attempt == "" || !ours:
			c.Foreign = append(c.Foreign, s)
		case attempt == last.Attempt, !known, began > last.Checkpoint:
			c.Running = append(c.Running, s)
		case now-overSince(pointers, attempt, began) < grace:
			c.Young = append(c.Young, s)
		default:
			c.Delete = append(c.Delete, s)
		}
	}
	return c
}

// overSince is when an attempt was over at the latest: the time of the first pointer of another one at, or after, the first
// checkpoint that it worked for.
func overSince(pointers []Committed, attempt string, began int64) int64 {
	for _, p := range pointers {
		if p.Pointer.Attempt != attempt && p.Pointer.Checkpoint >= began {
			return p.Pointer.Time
		}
	}
	return pointers[len(pointers)-1].Pointer.Time
}

// uploadOf returns the checkpoint in a name that [FileName] made; ok is false for any other name.
func uploadOf(name string) (checkpoint int64, ok bool) {
	if AttemptOf(name) == "" {
		return 0, false
	}
	digits, rest, found := strings.Cut(path.Base(name), "-")
	hash, kind, dot := strings.Cut(rest, ".")
	checkpoint, err := strconv.ParseInt(digits, 10, 64)
	return checkpoint, found && dot && err == nil && len(hash) == 2*len(Hash{}) && kind != ""
}

// DeleteAll deletes files, and calls done after each. It stops at the first error: what is left is as much garbage as before.
func DeleteAll(ctx context.Context, store Store, files []Stored, done func(Stored)) error {
	for _, f := range files {
		if err := store.Delete(ctx, f.Name); err != nil {
			return err
		}
		done(f)
	}
	return nil
}

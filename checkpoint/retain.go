package checkpoint

import "slices"

// Committed is a committed pointer and where it is in the checkpoint partition.
type Committed struct {
	Offset  int64
	Pointer *Pointer
}

// Garbage is what may be deleted (rule 15).
type Garbage struct {
	// Keep are the pointers that are still needed, oldest first: the argument of the next call, with the next pointer added.
	Keep []Committed
	// Files are the names of files that only dropped pointers listed.
	Files []string
	// Below: records of the checkpoint partition below this offset may go.
	Below int64
}

// Retain says what may be deleted after the last of the pointers was committed: what the retained ones, those of
// savepoints that are under way, the one that was left behind, and the deltas inside older records do not need. Known are
// pointers that this attempt knows to be committed, oldest first; savepoints are those still under way; left is what
// [LoadLeft] returned, nil if nothing was left behind. A failed attempt must not call it.
func Retain(known []Committed, retained int, savepoints []Savepoint, left *Pointer) Garbage {
	var g Garbage
	var dropped []Committed
	for i, c := range known {
		pinned := slices.ContainsFunc(savepoints, func(s Savepoint) bool { return s.Checkpoint == c.Pointer.Checkpoint })
		if i >= len(known)-retained || pinned {
			g.Keep = append(g.Keep, c)
		} else {
			dropped = append(dropped, c)
		}
	}
	kept := map[string]bool{}
	if left != nil {
		for _, f := range left.AllFiles() {
			kept[f.Name] = true
		}
	}
	for i, c := range g.Keep {
		if low := lowest(c); i == 0 || low < g.Below {
			g.Below = low
		}
		for _, f := range c.Pointer.AllFiles() {
			kept[f.Name] = true
		}
	}
	for _, s := range savepoints {
		if s.Offset >= 0 && len(g.Keep) > 0 {
			g.Below = min(g.Below, s.Offset)
		}
	}
	for _, c := range dropped {
		for _, f := range c.Pointer.AllFiles() {
			if !kept[f.Name] {
				kept[f.Name] = true // list it once
				g.Files = append(g.Files, f.Name)
			}
		}
	}
	return g
}

// lowest is the lowest offset of the checkpoint partition that a pointer needs.
func lowest(c Committed) int64 {
	low := c.Offset
	for _, d := range c.Pointer.Deltas {
		if d.Inline == nil && d.File == nil {
			low = min(low, d.Offset)
		}
	}
	return low
}

// Orphans returns the files that other attempts left behind: they are in the list and no pointer that is kept names them,
// that of the checkpoint left behind included.
//
// The list must have been taken between this attempt's fencing and its first commit, and Orphans be called after that
// commit. Then whatever was listed belongs to attempts that can commit nothing any more: an attempt fences every slot
// before it uploads anything, so had one of them fenced the slot of our first checkpoint after us, that commit would have
// failed; and it needs the same slot next (rule 2). A list taken later could hold files of a newer attempt.
func Orphans(listed []Stored, keep []Committed, left *Pointer, attempt string) []string {
	kept := map[string]bool{}
	if left != nil {
		for _, f := range left.AllFiles() {
			kept[f.Name] = true
		}
	}
	for _, c := range keep {
		for _, f := range c.Pointer.AllFiles() {
			kept[f.Name] = true
		}
	}
	var out []string
	for _, s := range listed {
		if of := AttemptOf(s.Name); !kept[s.Name] && of != "" && of != attempt {
			out = append(out, s.Name)
		}
	}
	return out
}

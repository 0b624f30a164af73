package operators

import "slices"

// mark stands for the changes of an epoch, and of those after the mark before.
type mark struct {
	epoch      uint64
	checkpoint int64
	cells      int    // in use that have not changed since
	number     uint64 // the last one that a cell had got
}

// advance moves applied, gone and lacked on and reports whether one of them moved.
func (j *journal[V]) advance() bool {
	a, n, gone, lacked := j.store.Applied(), 0, j.gone, j.lacked
	since, upTo := j.store.Lacks()
	if since > j.since {
		// A mark may be missing: then more cells than have to be count as older.
		j.since, j.older = since, j.number
		if i := slices.IndexFunc(j.marks, func(m mark) bool { return m.checkpoint >= since }); i >= 0 {
			j.older = j.marks[i].number
		}
	}
	for n < len(j.marks) && j.marks[n].checkpoint <= a {
		j.applied = j.marks[n].epoch
		j.behind -= j.marks[n].cells
		n++
	}
	j.marks = slices.Delete(j.marks, 0, n)
	for _, m := range slices.Backward(j.marks) {
		if m.checkpoint <= upTo {
			j.refresh() // a cell must not be forgotten while an Encode may read it
			j.lacked = max(j.lacked, min(m.epoch, j.safe))
			break
		}
	}
	if j.gone = max(j.gone, j.applied); j.since == 0 {
		j.gone = max(j.gone, j.lacked)
	}
	if len(j.marks) > manyMarks {
		// Without some of the older ones, applied is less than it could be for a while.
		kept, cells := j.marks[:0], 0
		for i, m := range j.marks {
			if cells += m.cells; i%2 == 1 || i > manyMarks/2 {
				m.cells, cells = cells, 0
				kept = append(kept, m)
			}
		}
		j.marks = kept
	}
	return n > 0 || j.gone > gone || j.lacked > lacked
}

// forgettable reports that nobody needs to know of a deleted cell any more.
func (j *journal[V]) forgettable(c *cell[V]) bool {
	return c.epoch <= j.gone || c.epoch <= j.lacked && c.number > j.older && c.flags&flagNew != 0
}

// settled takes a cell out of the count of its epoch: it changes again, or goes.
func (j *journal[V]) settled(c *cell[V]) {
	if c.epoch <= j.applied || c.epoch == j.epoch {
		return
	}
	lo, hi := 0, len(j.marks)-1 // most cells that change have changed in the last epoch too
	for mid := hi - 1; lo < hi; mid = int(uint(lo+hi) >> 1) {
		if j.marks[mid].epoch < c.epoch {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	j.marks[lo].cells--
	j.behind--
}

// unapplied is how many cells have changes that the store does not have.
func (j *journal[V]) unapplied() int { return j.behind + len(j.dirty) - j.holes }

// manyMarks is how many checkpoints are told apart that the store does not have.
const manyMarks = 256

package checkpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pointer makes a committed pointer: files and, as @N, deltas inside the record at offset N.
func committed(checkpoint, offset int64, needs ...string) Committed {
	p := &Pointer{Checkpoint: checkpoint}
	for _, n := range needs {
		var at int64
		if _, err := fmt.Sscanf(n, "@%d", &at); err == nil {
			p.Deltas = append(p.Deltas, Delta{Offset: at})
		} else {
			p.Deltas = append(p.Deltas, Delta{File: &File{Name: n}, Offset: -1})
		}
	}
	return Committed{Offset: offset, Pointer: p}
}

func TestOnlyWhatNoRetainedPointerListsIsDeleted(t *testing.T) {
	one, two, three := committed(1, 10, "a", "b"), committed(2, 20, "b", "c", "@10"), committed(3, 30, "c", "@20")
	for _, tc := range []struct {
		name       string
		known      []Committed
		retained   int
		savepoints []Savepoint
		keep       int
		files      string
		below      int64
	}{
		{"the first", []Committed{one}, 1, nil, 1, "", 10},
		{"an older record holds a delta", []Committed{one, two}, 1, nil, 1, "a", 10},
		{"it moves on with the base", []Committed{two, three}, 1, nil, 1, "b", 20},
		{"several at once", []Committed{one, two, three}, 1, nil, 1, "a b", 20},
		{"two are retained", []Committed{one, two, three}, 2, nil, 2, "a", 10},
		{"more than there are", []Committed{one, two}, 5, nil, 2, "", 10},
		{"a savepoint is under way", []Committed{one, two, three}, 1, []Savepoint{{Checkpoint: 1, Offset: 10}}, 2, "", 10},
		{"a savepoint whose pointer is not loaded", []Committed{two, three}, 1, []Savepoint{{Checkpoint: 1, Offset: 10}}, 1, "b", 10},
	} {
		g := Retain(tc.known, tc.retained, tc.savepoints)
		if len(g.Keep) != tc.keep || strings.Join(g.Files, " ") != tc.files || g.Below != tc.below {
			t.Errorf("%s: keep %d, files %v, below %d", tc.name, len(g.Keep), g.Files, g.Below)
		}
	}
}

func TestOrphansAreFilesOfOtherAttemptsThatNobodyLists(t *testing.T) {
	listed := []Stored{{Name: "j/0/old/1.sst"}, {Name: "j/0/old/2.sst"}, {Name: "j/0/own/3.sst"}, {Name: "something"}}
	got := Orphans(listed, []Committed{committed(1, 10, "j/0/old/2.sst")}, "own")
	if !slices.Equal(got, []string{"j/0/old/1.sst"}) {
		t.Error(got)
	}
}

package verify

import (
	"cmp"
	"slices"
)

// mark is what two records are compared by: hashes of the value and of the headers, and the timestamp.
type mark struct {
	value, headers uint64
	timestamp      int64
}

func compareMarks(a, b mark) int {
	return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.headers, b.headers), cmp.Compare(a.timestamp, b.timestamp))
}

// edit is one step of a comparison: a pair that is equal or different, or a record on one side only. want and got are
// indexes, -1 for none.
type edit struct {
	what      verdict
	want, got int
}

type verdict uint8

const (
	equal verdict = iota
	different
	missing // on the wanted side only
	doubled // on the other side only, and wanted elsewhere
	madeUp  // on the other side only
	outOfOrder
)

// align compares two sequences in order. It takes the first place where one can go on with the other, which is not always
// the shortest script, but tells a repeated stretch from one that is left out, however long it is.
func align(want, got []mark) []edit {
	wanted, have := placesOf(want), placesOf(got)
	var out []edit
	i, j := 0, 0
	for i < len(want) && j < len(got) {
		if want[i] == got[j] {
			out = append(out, edit{equal, i, j})
			i, j = i+1, j+1
			continue
		}
		later, laterGot := wanted.from(got[j], i), have.from(want[i], j)
		switch {
		case later < 0 && laterGot < 0 && !wanted.has(got[j]):
			out = append(out, edit{different, i, j})
			i, j = i+1, j+1
		case later < 0, laterGot >= 0 && laterGot-j <= later-i:
			out = append(out, surplus(wanted, got[j], j))
			j++
		default:
			out = append(out, edit{missing, i, -1})
			i++
		}
	}
	for ; i < len(want); i++ {
		out = append(out, edit{missing, i, -1})
	}
	for ; j < len(got); j++ {
		out = append(out, surplus(wanted, got[j], j))
	}
	return moved(out, want, got)
}

func surplus(wanted places, m mark, j int) edit {
	if wanted.has(m) {
		return edit{doubled, -1, j}
	}
	return edit{madeUp, -1, j}
}

// moved turns a record that is missing in one place and doubled in another into one out of order.
func moved(edits []edit, want, got []mark) []edit {
	gone := map[mark][]int{} // indexes of edits
	for at, e := range edits {
		if e.what == missing {
			gone[want[e.want]] = append(gone[want[e.want]], at)
		}
	}
	if len(gone) == 0 {
		return edits
	}
	drop := map[int]bool{}
	for at := range edits {
		e := &edits[at]
		if e.what != doubled {
			continue
		}
		if from := gone[got[e.got]]; len(from) > 0 {
			e.what, e.want = outOfOrder, edits[from[0]].want
			drop[from[0]] = true
			gone[got[e.got]] = from[1:]
		}
	}
	out := edits[:0]
	for at, e := range edits {
		if !drop[at] {
			out = append(out, e)
		}
	}
	return out
}

// pair compares two bags: records whose order is not defined. What is left over on both sides with the same timestamp is
// taken for one record that differs.
func pair(want, got []mark) []edit {
	w, g := sorted(want), sorted(got)
	wanted := placesOf(want)
	var out, left, over []edit
	for i, j := 0, 0; i < len(w) || j < len(g); {
		order := 0
		switch {
		case i == len(w):
			order = 1
		case j == len(g):
			order = -1
		default:
			order = compareMarks(want[w[i]], got[g[j]])
		}
		switch {
		case order == 0:
			out = append(out, edit{equal, w[i], g[j]})
			i, j = i+1, j+1
		case order < 0:
			left = append(left, edit{missing, w[i], -1})
			i++
		default:
			over = append(over, surplus(wanted, got[g[j]], g[j]))
			j++
		}
	}
	at := map[int64][]int{} // timestamp to indexes of left
	for n, e := range left {
		at[want[e.want].timestamp] = append(at[want[e.want].timestamp], n)
	}
	used := map[int]bool{}
	for _, e := range over {
		if same := at[got[e.got].timestamp]; e.what == madeUp && len(same) > 0 {
			used[same[0]] = true
			e.what, e.want = different, left[same[0]].want
			at[got[e.got].timestamp] = same[1:]
		}
		out = append(out, e)
	}
	for n, e := range left {
		if !used[n] {
			out = append(out, e)
		}
	}
	return out
}

func sorted(marks []mark) []int {
	order := make([]int, len(marks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareMarks(marks[a], marks[b]) })
	return order
}

// places says where each mark of a sequence stands, ascending.
type places map[mark][]int

func placesOf(marks []mark) places {
	p := make(places, len(marks))
	for i, m := range marks {
		p[m] = append(p[m], i)
	}
	return p
}

func (p places) has(m mark) bool { return len(p[m]) > 0 }

// from is the first place at or after i, -1 if there is none.
func (p places) from(m mark, i int) int {
	all := p[m]
	if at, _ := slices.BinarySearch(all, i); at < len(all) {
		return all[at]
	}
	return -1
}

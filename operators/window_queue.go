package operators

import (
	"slices"
	"strings"

	"github.com/weirstream/weir/stream"
)

// paneQueue says which panes have something due at what time. It is not state: a restore makes it anew of the panes,
// which spares a timer to write and delete for each of them. There are few times and many panes.
type paneQueue struct {
	times []int64 // ascending
	at    map[int64]*[]paneRef
	last  *[]paneRef // that of lastTime, the last one used
	// lastTime has a meaning if last is set.
	lastTime int64
	spare    []*[]paneRef
	bytes    int64
}

type paneRef struct {
	key   string
	start int64
	group stream.KeyGroup
}

const paneRefBytes = 40

func (q *paneQueue) init() { q.at = make(map[int64]*[]paneRef) }

// push adds a pane; the key is copied.
func (q *paneQueue) push(ts int64, group stream.KeyGroup, key string, start int64) {
	refs := q.last
	if refs == nil || q.lastTime != ts {
		if refs = q.at[ts]; refs == nil {
			refs = q.fresh()
			q.at[ts] = refs
			i, _ := slices.BinarySearch(q.times, ts)
			q.times = slices.Insert(q.times, i, ts)
		}
		q.last, q.lastTime = refs, ts
	}
	*refs = append(*refs, paneRef{strings.Clone(key), start, group})
	q.bytes += paneRefBytes + int64(len(key))
}

func (q *paneQueue) fresh() *[]paneRef {
	if n := len(q.spare) - 1; n >= 0 {
		refs := q.spare[n]
		q.spare = q.spare[:n]
		return refs
	}
	return new([]paneRef)
}

// pop takes the panes of the earliest time, sorted by key and then start, if that is not after upTo. They are given back
// with done.
func (q *paneQueue) pop(upTo int64) (ts int64, refs *[]paneRef, ok bool) {
	if len(q.times) == 0 || q.times[0] > upTo {
		return 0, nil, false
	}
	ts = q.times[0]
	refs = q.at[ts]
	q.times = slices.Delete(q.times, 0, 1)
	delete(q.at, ts)
	q.last = nil
	slices.SortFunc(*refs, func(a, b paneRef) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		if a.start < b.start {
			return -1
		}
		return 1
	})
	return ts, refs, true
}

func (q *paneQueue) done(refs *[]paneRef) {
	for i := range *refs {
		q.bytes -= paneRefBytes + int64(len((*refs)[i].key))
	}
	clear(*refs)
	*refs = (*refs)[:0]
	if len(q.spare) < 4 {
		q.spare = append(q.spare, refs)
	}
}

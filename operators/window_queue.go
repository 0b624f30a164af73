package operators

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weirstream/weir/stream"
)

// paneQueue says which panes have something due at what time. It is not state: a restore makes it anew of the panes,
// which spares a timer to write and delete for each of them. There are few times and many panes.
type paneQueue[V any] struct {
	times []int64 // ascending
	at    map[int64]*[]paneRef[V]
	last  *[]paneRef[V] // that of lastTime, the last one used
	// lastTime has a meaning if last is set.
	lastTime int64
	spare    []*[]paneRef[V]
	bytes    int64
}

// paneRef stands for a pane: by its cell while that is in memory, else by name.
type paneRef[V any] struct {
	c    *cell[V]
	cold *coldPane
}

// coldPane names a pane that is in the store.
type coldPane struct {
	key   string
	start int64
	group stream.KeyGroup
}

const (
	paneRefBytes  = 16
	coldPaneBytes = 48 // with the key's header
)

func (q *paneQueue[V]) init() { q.at = make(map[int64]*[]paneRef[V]) }

// push adds a pane in memory. A cell that is in use for something else when the time comes, or for nothing, is no harm:
// take it for a pane only if it has a value that is due then.
func (q *paneQueue[V]) push(ts int64, c *cell[V]) {
	q.add(ts, paneRef[V]{c: c})
}

// pushCold adds a pane of the store; the key is copied.
func (q *paneQueue[V]) pushCold(ts int64, group stream.KeyGroup, key string, start int64) {
	key = strings.Clone(key)
	q.add(ts, paneRef[V]{cold: &coldPane{key, start, group}})
	q.bytes += coldPaneBytes + int64(len(key))
}

func (q *paneQueue[V]) add(ts int64, ref paneRef[V]) {
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
	*refs = append(*refs, ref)
	q.bytes += paneRefBytes
}

func (q *paneQueue[V]) fresh() *[]paneRef[V] {
	if n := len(q.spare) - 1; n >= 0 {
		refs := q.spare[n]
		q.spare = q.spare[:n]
		return refs
	}
	return new([]paneRef[V])
}

// sortedPanes is how many panes that are due at one time are sorted.
const sortedPanes = 256

// pop takes the panes of the earliest time, if that is not after upTo. They are given back with done. They are in the order
// in which they came, after a restore that of the store.
func (q *paneQueue[V]) pop(upTo int64) (ts int64, refs *[]paneRef[V], ok bool) {
	if len(q.times) == 0 || q.times[0] > upTo {
		return 0, nil, false
	}
	ts = q.times[0]
	refs = q.at[ts]
	q.times = slices.Delete(q.times, 0, 1)
	delete(q.at, ts)
	q.last = nil
	return ts, refs, true
}

// sortFew sorts what pop has returned by key and then start, if it is not much: for people who read results and for tests that
// compare them. Many stay as they are, since nobody can tell who reads each key's results: it is the order of their cells in
// memory and of the changes of the epoch, and to go through these in another order costs a third of what a window does.
func sortFew[V any](refs []paneRef[V]) {
	if len(refs) <= sortedPanes {
		slices.SortFunc(refs, paneRef[V].compare)
	}
}

func (r paneRef[V]) compare(o paneRef[V]) int {
	key, start := r.name()
	otherKey, otherStart := o.name()
	if c := strings.Compare(key, otherKey); c != 0 {
		return c
	}
	return cmp.Compare(start, otherStart)
}

// name is the pane's key and start. That of a cell is borrowed, and without a meaning if the cell is not in use.
func (r paneRef[V]) name() (key string, start int64) {
	if r.cold != nil {
		return r.cold.key, r.cold.start
	}
	if r.c.nsLen != 8 {
		return "", 0
	}
	return r.c.key(), startOf(r.c)
}

// startOf is the start of a pane's window.
func startOf[V any](c *cell[V]) int64 {
	var b [8]byte
	copy(b[:], c.space())
	return intOf(b[:])
}

func (q *paneQueue[V]) done(refs *[]paneRef[V]) {
	for _, r := range *refs {
		q.bytes -= paneRefBytes
		if r.cold != nil {
			q.bytes -= coldPaneBytes + int64(len(r.cold.key))
		}
	}
	clear(*refs)
	*refs = (*refs)[:0]
	if len(q.spare) < 4 {
		q.spare = append(q.spare, refs)
	}
}

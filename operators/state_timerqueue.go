package operators

import (
	"slices"
	"strings"

	"github.com/weirstream/weir/stream"
)

// timerQueue holds timers by time: a heap of the times, and at each time its timers, which are sorted when the first of
// them is taken. Windows have few times and many timers; this costs far less than one heap of all. Deleted timers stay
// until their time comes or until they are more than half of all.
type timerQueue struct {
	buckets map[int64]*timerBucket
	heap    []*timerBucket
	items   int // in all buckets
	live    int // those not deleted
}

type timerBucket struct {
	ts     int64
	items  []timerItem // those before pos are gone
	pos    int
	live   int
	sorted bool
}

// timerItem has the first bytes of the key beside it: most comparisons need no more.
type timerItem struct {
	prefix uint64
	c      *cell[struct{}]
}

func (i timerItem) compare(o timerItem) int {
	if i.prefix != o.prefix {
		if i.prefix < o.prefix {
			return -1
		}
		return 1
	}
	if c := strings.Compare(i.c.key(), o.c.key()); c != 0 {
		return c
	}
	return strings.Compare(i.c.space(), o.c.space())
}

// current reports that the item stands for a timer: not deleted, and not taken over by another cell.
func (i timerItem) current() bool { return i.c.state() == stLive && i.c.flags&flagGone == 0 }

func prefixOf(key string) (p uint64) {
	for i := range min(8, len(key)) {
		p |= uint64(key[i]) << (56 - 8*i)
	}
	return p
}

func (q *timerQueue) push(ts int64, c *cell[struct{}]) {
	b := q.buckets[ts]
	if b == nil {
		b = &timerBucket{ts: ts}
		q.buckets[ts] = b
		q.heap = append(q.heap, b)
		q.up(len(q.heap) - 1)
	}
	c.flags |= flagTimer
	item := timerItem{prefixOf(c.key()), c}
	if b.sorted {
		at, _ := slices.BinarySearchFunc(b.items[b.pos:], item, timerItem.compare)
		b.items = slices.Insert(b.items, b.pos+at, item)
	} else {
		b.items = append(b.items, item)
	}
	b.live++
	q.items++
	q.live++
}

// revive counts a timer that was deleted, is set again and never left its bucket.
func (q *timerQueue) revive(ts int64) {
	q.buckets[ts].live++
	q.live++
}

// drop counts a timer that was deleted.
func (q *timerQueue) drop(ts int64) {
	q.buckets[ts].live--
	q.live--
	if q.items > 2*q.live+1024 {
		q.compact()
	}
}

// next returns the earliest time that has a timer.
func (q *timerQueue) next() int64 {
	for len(q.heap) > 0 {
		b := q.heap[0]
		if b.live > 0 {
			return b.ts
		}
		for _, item := range b.items[b.pos:] {
			item.c.flags &^= flagTimer
			q.items--
		}
		delete(q.buckets, b.ts)
		n := len(q.heap) - 1
		q.heap[0], q.heap[n] = q.heap[n], nil
		q.heap = q.heap[:n]
		q.down(0)
	}
	return stream.MaxTime
}

// pop takes the first timer of the earliest time, which next has found.
func (q *timerQueue) pop() *cell[struct{}] {
	b := q.heap[0]
	if !b.sorted {
		slices.SortFunc(b.items, timerItem.compare)
		b.sorted = true
	}
	for {
		item := b.items[b.pos]
		b.items[b.pos].c = nil
		b.pos++
		q.items--
		current := item.current()
		item.c.flags &^= flagTimer
		if current {
			b.live--
			q.live--
			return item.c
		}
	}
}

// compact drops deleted timers and times without any.
func (q *timerQueue) compact() {
	heap := q.heap[:0]
	q.items = 0
	for _, b := range q.heap {
		kept := b.items[:0]
		for _, item := range b.items[b.pos:] {
			if item.current() {
				kept = append(kept, item)
			} else {
				item.c.flags &^= flagTimer
			}
		}
		clear(b.items[len(kept):])
		if b.items, b.pos = kept, 0; len(kept) == 0 {
			delete(q.buckets, b.ts)
			continue
		}
		q.items += len(kept)
		heap = append(heap, b)
	}
	clear(q.heap[len(heap):])
	q.heap = heap
	for i := len(heap)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *timerQueue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if q.heap[parent].ts <= q.heap[i].ts {
			return
		}
		q.heap[parent], q.heap[i] = q.heap[i], q.heap[parent]
		i = parent
	}
}

func (q *timerQueue) down(i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(q.heap) && q.heap[child].ts < q.heap[least].ts {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

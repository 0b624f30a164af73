package operators

import (
	"cmp"
	"slices"
)

// paneItem is 8 bytes of the key of a pane and its place in a list of panes. Sorting these, which have no pointers, moves less
// than sorting the panes.
type paneItem struct {
	word uint64
	at   uint32
}

// paneOrder sorts panes by key and then start. Keys of one window are many and alike, and mostly end within 8 bytes: so
// they are sorted by distribution (radix sort, least significant byte first; Knuth, volume 3, 5.2.5), without the bytes in
// which they do not differ, and what is equal in 8 bytes by the next 8.
type paneOrder[V any] struct{ items, other []paneItem }

// fewPanes are sorted by comparisons.
const fewPanes = 128

// sort returns the order of the panes; it is valid until the next call.
func (o *paneOrder[V]) sort(refs []paneRef[V]) []paneItem {
	n := len(refs)
	o.items, o.other = slices.Grow(o.items[:0], n)[:n], slices.Grow(o.other[:0], n)[:n]
	for i := range refs {
		o.items[i] = paneItem{refs[i].prefix, uint32(i)}
	}
	if sortWords(o.items, o.other) {
		o.items, o.other = o.other, o.items
	}
	sortTies(refs, o.items, o.other, 8)
	items := o.items
	if cap(items) > 4*n+1<<12 {
		o.items, o.other = nil, nil // a window was much larger
	}
	return items
}

// sortWords sorts items by word. It uses other, which is as long, and reports whether the result is there.
func sortWords(items, other []paneItem) (inOther bool) {
	if len(items) < fewPanes {
		slices.SortFunc(items, func(x, y paneItem) int { return cmp.Compare(x.word, y.word) })
		return false
	}
	differ := uint64(0)
	for i := range items {
		differ |= items[i].word ^ items[0].word
	}
	for shift := 0; shift < 64; shift += 8 {
		if byte(differ>>shift) == 0 {
			continue
		}
		var next [256]uint32
		for i := range items {
			next[byte(items[i].word>>shift)]++
		}
		sum := uint32(0)
		for i, n := range next {
			next[i], sum = sum, sum+n
		}
		for _, item := range items {
			to := &next[byte(item.word>>shift)]
			other[*to] = item
			*to++
		}
		items, other, inOther = other, items, !inOther
	}
	return inOther
}

// sortTies sorts what has the same word, by what the keys have from byte from on.
func sortTies[V any](refs []paneRef[V], items, other []paneItem, from int) {
	for begin, end := 0, 0; begin < len(items); begin = end {
		for end = begin + 1; end < len(items) && items[end].word == items[begin].word; end++ {
		}
		same := items[begin:end]
		switch {
		case len(same) == 1:
		case len(same) < fewPanes || from >= mostWords*8:
			slices.SortFunc(same, func(x, y paneItem) int { return refs[x.at].compare(refs[y.at]) })
		default:
			for i := range same {
				key, _ := refs[same[i].at].name()
				same[i].word = prefixOf(key[min(from, len(key)):])
			}
			rest := other[begin:end]
			if sortWords(same, rest) {
				copy(same, rest)
			}
			sortTies(refs, same, rest, from+8)
		}
	}
}

// mostWords is how many times 8 bytes of a key are looked at before keys are compared as a whole.
const mostWords = 8

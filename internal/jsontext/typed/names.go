package typed

import (
	"math/bits"

	"github.com/weirstream/weir/internal/jsontext"
)

// names finds a field by its name, and tells quickly of most names that there is none: a hash table in which no two names
// meet. Its multiplier is searched when the plan is made.
type names struct {
	multiplier uint64
	shift      uint8
	slots      []nameSlot
	// index is used if no multiplier was found.
	index map[string]int
}

type nameSlot struct {
	word  uint64 // jsontext.NameWord of the name
	name  string
	field int // -1 if the slot is free
}

// fill takes the names of fields, which differ.
func (t *names) fill(fields []field) {
	size := max(4, 1<<bits.Len(uint(2*len(fields))))
	for range 4 {
		t.slots = make([]nameSlot, size)
		t.shift = uint8(64 - bits.TrailingZeros(uint(size)))
		for n := range uint64(64) {
			t.multiplier = (2*n + 1) * 0x9e3779b97f4a7c15 // Fibonacci hashing, and odd multiples of it
			if t.place(fields) {
				return
			}
		}
		size *= 2
	}
	t.slots, t.index = nil, map[string]int{}
	for i := range fields {
		t.index[fields[i].name] = i
	}
}

func (t *names) place(fields []field) bool {
	for i := range t.slots {
		t.slots[i].field = -1
	}
	for i := range fields {
		name := fields[i].name
		slot := t.slot(jsontext.NameWord(name), len(name))
		if slot.field >= 0 {
			return false
		}
		*slot = nameSlot{jsontext.NameWord(name), name, i}
	}
	return true
}

func (t *names) slot(word uint64, n int) *nameSlot {
	return &t.slots[(word^uint64(n))*t.multiplier>>t.shift&uint64(len(t.slots)-1)]
}

// find returns the field of a name, whose jsontext.NameWord is word; -1 if there is none.
func (t *names) find(word uint64, name string) int {
	if t.index != nil {
		if f, ok := t.index[name]; ok {
			return f
		}
		return -1
	}
	if slot := t.slot(word, len(name)); slot.word == word && len(slot.name) == len(name) && (len(name) < 8 || slot.name == name) {
		return slot.field
	}
	return -1
}

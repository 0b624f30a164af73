package pebblestate

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// keySet knows the keys that Pebble has, and a few that it has not: a blocked Bloom filter (Putze, Sanders and Singler,
// 2007). Most keys of a state that grows beyond the memory are absent when they are first asked for, and Pebble would look
// into a table of each of its levels for them; of the last one, which has most keys, it does not even ask the filter.
//
// It has parts, each four times as large as the one before, until all of them take the bytes that it may have. Then the last
// one takes more keys than it is made for, and answers wrongly more often.
type keySet struct {
	parts atomic.Pointer[[]*keyPart] // oldest first
	room  int64                      // bytes that may still be allocated
}

// keyPart is one filter: blocks of a cache line. Readers and writers share it.
type keyPart struct {
	blocks [][blockWords]atomic.Uint64
	most   int // keys that it is made for
	n      int
}

const (
	blockWords  = 8
	blockBytes  = 8 * blockWords
	keyBits     = 16 // a key, for 2 to 3 wrong answers in a thousand
	keyProbes   = 6
	firstBlocks = 1 << 10
)

func newKeySet(bytes int64) *keySet {
	s := &keySet{room: bytes}
	s.parts.Store(new([]*keyPart))
	return s
}

// probe is the place of a key in a block: a word and a bit for each of keyProbes.
func probe(hash uint64, i int) (word int, bit uint64) {
	at := hash >> (9 * i) & 511
	return int(at >> 6), 1 << (at & 63)
}

func (p *keyPart) block(hash uint64) (*[blockWords]atomic.Uint64, uint64) {
	hi, lo := bits.Mul64(hash, uint64(len(p.blocks)))
	return &p.blocks[hi], (lo ^ lo>>32) * 0x9e3779b97f4a7c15 >> 10 // the product's own bits choose no block
}

func (p *keyPart) has(hash uint64) bool {
	b, places := p.block(hash)
	for i := range keyProbes {
		if word, bit := probe(places, i); b[word].Load()&bit == 0 {
			return false
		}
	}
	return true
}

func (s *keySet) has(hash uint64) bool {
	parts := *s.parts.Load()
	for i := len(parts) - 1; i >= 0; i-- { // most keys are in the last one
		if parts[i].has(hash) {
			return true
		}
	}
	return false
}

// add is for one goroutine at a time.
func (s *keySet) add(hash uint64) {
	if s.has(hash) {
		return
	}
	parts := *s.parts.Load()
	if n := len(parts); n == 0 || parts[n-1].n >= parts[n-1].most && s.room >= blockBytes {
		blocks := int64(firstBlocks) << (2 * n)
		if left := s.room / blockBytes; blocks > left/2 {
			blocks = max(left, 1)
		}
		s.room -= blocks * blockBytes
		p := &keyPart{blocks: make([][blockWords]atomic.Uint64, blocks), most: int(blocks) * blockBytes * 8 / keyBits}
		parts = append(parts[:n:n], p)
		s.parts.Store(&parts)
	}
	p := parts[len(parts)-1]
	p.n++
	b, places := p.block(hash)
	for i := range keyProbes {
		word, bit := probe(places, i)
		b[word].Or(bit)
	}
}

// absent reports that Pebble does not have the key, or with one that has no namespace, nothing of that key in any namespace. A
// key that is in a base which is being written may be there or not.
func (b *Backend) absent(key []byte) bool {
	return b.keysKnown.Load() && !b.keys.has(xxhash.Sum64(key))
}

// addKey adds a key before it is written to Pebble: itself, and its part before the namespace.
func (b *Backend) addKey(key []byte) {
	b.keysMu.Lock()
	defer b.keysMu.Unlock()
	b.keys.add(xxhash.Sum64(key))
	if _, _, _, namespace, err := splitKey(key); err == nil && len(namespace) > 0 {
		b.keys.add(xxhash.Sum64(key[:len(key)-len(namespace)]))
	}
}

// manyMisses is how many keys Pebble does not have before it is worth the while to read those that it has.
const manyMisses = 1 << 14

// missed is called for each key that Pebble was asked for and does not have, in any namespace if it was a scan. After a restore the keys of the base are not
// known; once many have been missed, they are read in the background.
func (b *Backend) missed() {
	if b.keysKnown.Load() || b.misses.Add(1) != manyMisses {
		return
	}
	go b.learnKeys()
}

// learnKeys reads the keys that Pebble has. What is written meanwhile adds itself. After an error, which readers and bases
// will meet too, nothing is known.
func (b *Backend) learnKeys() {
	if b.use() != nil {
		return
	}
	defer b.done()
	it, err := b.db.NewIterWithContext(context.Background(), nil)
	if err != nil {
		return
	}
	for ok := it.First(); ok && !b.closing.Load(); ok = it.Next() {
		b.addKey(it.Key())
	}
	if it.Close() == nil && !b.closing.Load() {
		b.keysKnown.Store(true)
	}
}

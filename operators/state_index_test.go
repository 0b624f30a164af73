package operators

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestIndexIsAMap adds, finds, replaces and removes at random, beside a Go map, with hashes of few bits as with many: every
// kind of collision, and parts of every depth.
func TestIndexIsAMap(t *testing.T) {
	for _, mask := range []uint32{0xffffffff, 0x0000ffff, 0xffff0000, 0xff0000ff, 0x00000003} {
		t.Run(fmt.Sprintf("%08x", mask), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(mask)))
			var x index[int]
			x.init()
			model := map[string]*cell[int]{}
			most := 20_000
			if mask == 3 {
				most = 300
			}
			for step := range 10 * most {
				name := fmt.Sprint("k", rng.IntN(most))
				hash := uint32(rng.Uint64())
				if c := model[name]; c != nil {
					hash = c.hash
				} else {
					hash &= mask
				}
				if got := x.find(hash, name); got != model[name] {
					t.Fatalf("step %d: %s: found %p, want %p", step, name, got, model[name])
				}
				grows := step < 6*most
				switch c := model[name]; {
				case c == nil && (grows || rng.IntN(4) == 0):
					c = &cell[int]{hash: hash}
					c.setName(name, 0)
					x.add(c)
					model[name] = c
				case c != nil && rng.IntN(3) == 0:
					n := &cell[int]{hash: hash}
					n.setName(name, 0)
					x.replace(c, n)
					model[name] = n
				case c != nil && (!grows || rng.IntN(3) == 0):
					x.remove(c)
					delete(model, name)
				}
				if x.n != len(model) {
					t.Fatalf("step %d: %d cells, want %d", step, x.n, len(model))
				}
			}
			seen := map[string]bool{}
			h := hand{at: rng.Uint32()}
			for left := 3 * x.slots; left > 0; {
				looks := 1 + rng.IntN(100)
				left -= looks
				if n := x.walk(&h, looks, func(c *cell[int]) (bool, bool) {
					seen[c.name()] = true
					return c.hash%3 == 0, true
				}); n != looks {
					t.Fatalf("looked at %d slots instead of %d", n, looks)
				}
			}
			for name, c := range model {
				if !seen[name] {
					t.Errorf("%s was not walked over", name)
				}
				want := c
				if c.hash%3 == 0 {
					want = nil
				}
				if got := x.find(c.hash, name); got != want {
					t.Errorf("after the walk: %s: found %p, want %p", name, got, want)
				}
			}
			slots := 0
			for i, p := range x.parts {
				if i == 0 || x.parts[i-1] != p {
					slots += len(p.slots)
				}
			}
			if slots != x.slots {
				t.Errorf("%d slots are counted, %d are there", x.slots, slots)
			}
		})
	}
}

// TestIndexGivesMemoryBack: after a walk that takes everything out, little is left.
func TestIndexGivesMemoryBack(t *testing.T) {
	var x index[int]
	x.init()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		c := &cell[int]{hash: rng.Uint32()}
		c.setName(fmt.Sprint(i), 0)
		x.add(c)
	}
	full := x.bytes()
	x.walk(new(hand), 3*x.slots, func(*cell[int]) (bool, bool) { return true, true })
	if x.n != 0 || x.bytes() > full/20 {
		t.Errorf("%d cells and %d of %d bytes are left", x.n, x.bytes(), full)
	}
}

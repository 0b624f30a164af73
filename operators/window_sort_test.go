package operators

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/stream"
)

// TestPanesAreSortedByKeyAndStart, however alike the keys are, few of them and many.
func TestPanesAreSortedByKeyAndStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	keys := map[string]func() string{
		"short":         func() string { return fmt.Sprint(rng.IntN(5000)) },
		"one beginning": func() string { return fmt.Sprintf("customer-of-the-north-%06d", rng.IntN(5000)) },
		"zeros":         func() string { return strings.Repeat("\x00", rng.IntN(20)) + strings.Repeat("a", rng.IntN(2)) },
		"very long":     func() string { return strings.Repeat("x", 100) + fmt.Sprint(rng.IntN(3000)) },
		"random bytes":  func() string { return fmt.Sprintf("%c%x", rune(rng.IntN(256)), rng.Uint32()) },
	}
	for name, key := range keys {
		var order paneOrder[int]
		for _, n := range []int{1, 2, fewPanes - 1, 3000, 10} {
			var refs []paneRef[int]
			for range n {
				k := key()
				refs = append(refs, paneRef[int]{prefix: prefixOf(k), cold: &coldPane{key: k, start: rng.Int64N(3)}})
			}
			want := slices.Clone(refs)
			slices.SortFunc(want, paneRef[int].compare)
			for i, item := range order.sort(refs) {
				if got := refs[item.at]; *got.cold != *want[i].cold {
					t.Fatalf("%s keys, %d of them: place %d has %q at %d, want %q at %d", name, n, i, got.cold.key, got.cold.start, want[i].cold.key, want[i].cold.start)
				}
			}
		}
	}
}

// TestAKeyIsTheSameWithItsHashAndWithout: an event may bring the hash of its key along.
func TestAKeyIsTheSameWithItsHashAndWithout(t *testing.T) {
	ctx := modelContext(newModelStore())
	value, err := NewValue[int64](ctx, "v", nil)
	must0(t, err)
	ev := stream.Event[int]{Key: []byte("a")}
	setKey(ctx, &ev)
	must0(t, value.Put(7))
	ev.Group, ev.Hash = stream.Locate(ev.Key, 16)
	setKey(ctx, &ev)
	if v, ok, err := value.Get(); v != 7 || !ok || err != nil {
		t.Errorf("%d, %t, %v", v, ok, err)
	}
}

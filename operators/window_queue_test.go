package operators

import (
	"testing"

	"github.com/weirstream/weir/stream"
)

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

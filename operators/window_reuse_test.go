package operators_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// TestKeysOfResultsOutliveTheirPanes: who holds a result holds its key, whatever its cell is used for meanwhile. Some keys fit
// into a cell, some do not.
func TestKeysOfResultsOutliveTheirPanes(t *testing.T) {
	ctx := &operators.Context{KeyGroups: 16, Groups: stream.KeyGroupRange{Last: 15}, Store: &operatortest.Store{},
		Now: func() int64 { return 0 }, Late: func() {}}
	op := operators.WindowCount(operators.Tumbling(time.Second), operators.WindowOptions[int]{}).New()
	if err := op.Open(ctx); err != nil {
		t.Fatal(err)
	}
	type held struct {
		want  string
		key   []byte
		value operators.KeyWindowCount
	}
	var results []held
	emit := stream.Emit[operators.KeyWindowCount](func(ev *stream.Event[operators.KeyWindowCount]) error {
		results = append(results, held{string(append([]byte(nil), ev.Key...)), ev.Key, ev.Value})
		return nil
	})
	const keys = 600 // more than are sorted
	for window := range int64(10) {
		for i := range keys {
			key := fmt.Appendf(nil, "%d", i*1000+int(window))
			if i%2 == 0 {
				key = fmt.Appendf(nil, "a key that is longer than a cell, number %d of window %d", i, window)
			}
			ev := stream.Event[int]{Key: key, Group: stream.KeyGroupOf(key, 16), Timestamp: window * 1000}
			if err := op.Process(&ev, emit); err != nil {
				t.Fatal(err)
			}
			clear(key) // the record's bytes are the engine's, not the operator's
		}
		if err := op.(operators.WatermarkHandler[operators.KeyWindowCount]).OnWatermark(window*1000+999, emit); err != nil {
			t.Fatal(err)
		}
	}
	if len(results) != 10*keys {
		t.Fatalf("%d results, want %d", len(results), 10*keys)
	}
	for _, r := range results {
		if string(r.key) != r.want || r.value.Key != r.want || r.value.Count != 1 {
			t.Fatalf("the key of %q is %q now, and that of its value %q", r.want, r.key, r.value.Key)
		}
	}
}

// TestManyPanesOfOneTimeFireOnceEach, in whatever order, those that were restored and those that came since; a few are sorted
// by key.
func TestManyPanesOfOneTimeFireOnceEach(t *testing.T) {
	spec := operators.WindowCount(operators.Tumbling(time.Second), operators.WindowOptions[int]{})
	for _, keys := range []int{20, 256, 257, 3000} {
		h := operatortest.New(t, spec)
		var want []string
		for i := range keys {
			key := fmt.Sprintf("key %04d", i*7919%keys)
			want = append(want, fmt.Sprintf("%s@999 {Key:%s Start:0 End:1000 Count:2}", key, key))
		}
		for round := range 2 {
			for i := range keys {
				if i < keys*2/3 || round == 1 {
					h.Process(fmt.Sprintf("key %04d", i*7919%keys), 0, int64(i%1000))
				}
				if i >= keys*2/3 && round == 1 {
					h.Process(fmt.Sprintf("key %04d", i*7919%keys), 0, int64(i%1000))
				}
			}
			if round == 0 {
				h = operatortest.Restore(t, spec, h.Snapshot())
			}
		}
		h.Watermark(999)
		got := h.Log()
		if sorted := slices.IsSorted(got); !sorted && keys <= 256 {
			t.Errorf("%d keys: not sorted", keys)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d keys: %d results, the first %q, want %q", keys, len(got), got[0], want[0])
		}
		if h.Watermark(stream.MaxTime); len(h.Log()) > 0 || h.Entries() > 0 {
			t.Errorf("%d keys: %d entries left", keys, h.Entries())
		}
	}
}

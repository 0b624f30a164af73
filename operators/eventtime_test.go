package operators_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

func generator(t *testing.T, bound time.Duration) (*operatortest.Harness[int64, int64], func(split int32, ts int64), func(want int64, idle bool)) {
	h := operatortest.New(t, operators.EventTimeMillis(func(ts int64) int64 { return ts }, bound))
	send := func(split int32, ts int64) {
		t.Helper()
		if err := h.Send(&stream.Event[int64]{Value: ts, Split: split}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(watermark int64, idle bool) {
		t.Helper()
		if w, i := h.Generator().Watermark(); w != watermark || i != idle {
			t.Fatalf("watermark %d, idle %v; want %d, %v", w, i, watermark, idle)
		}
	}
	return h, send, want
}

func TestWatermarkIsTheGreatestTimeLessTheBound(t *testing.T) {
	_, send, want := generator(t, 100*time.Millisecond)
	want(stream.MinTime, false)
	send(0, 1000)
	want(899, false)
	send(0, 950)
	want(899, false)
	send(0, 1001)
	want(900, false)
}

func TestTheSlowestSplitHoldsTimeBackUnlessIdle(t *testing.T) {
	h, send, want := generator(t, 0)
	second := h.OpenSplit()
	send(0, 1000)
	want(stream.MinTime, false)
	send(second, 500)
	want(499, false)
	h.Generator().SetIdle(second, true)
	want(999, false)
	// It comes back behind the others: time does not go back.
	h.Generator().SetIdle(second, false)
	send(second, 600)
	want(999, false)
	send(second, 2000)
	send(0, 1500)
	want(1499, false)
	// Now nobody holds it back, whichever of the two became idle first.
	h.Generator().SetIdle(0, true)
	h.Generator().SetIdle(second, true)
	want(1999, true)
	h.Generator().SetIdle(0, false)
	h.Generator().CloseSplit(0)
	want(1999, true)
	h.Generator().SetIdle(second, false)
	want(1999, false)
	h.Generator().CloseSplit(second)
	want(1999, true)
}

func TestWatermarksGoOnAfterARestart(t *testing.T) {
	h, send, _ := generator(t, 0)
	send(h.OpenSplit(), 700)
	send(0, 900)
	w, _ := h.Generator().Watermark()
	h.Watermark(w)
	spec := operators.EventTimeMillis(func(ts int64) int64 { return ts }, 0)
	r := operatortest.Restore(t, spec, h.Snapshot())
	if got, idle := r.Generator().Watermark(); got != 699 || idle {
		t.Fatalf("watermark %d, idle %v after a restart", got, idle)
	}
}

func TestMaxDrift(t *testing.T) {
	at := func(ts int64) int64 { return ts }
	for _, tc := range []struct {
		opts []operators.EventTimeOption
		want int64
		err  string
	}{
		{nil, 0, ""},
		{[]operators.EventTimeOption{operators.MaxDrift(time.Minute)}, 60_000, ""},
		{[]operators.EventTimeOption{operators.MaxDrift(time.Microsecond)}, 1, ""}, // not none
		{[]operators.EventTimeOption{operators.MaxDrift(-time.Second)}, 0, "event_time: maximum drift -1s is negative"},
	} {
		spec := operators.EventTimeMillis(at, 0, tc.opts...)
		if tc.err != "" {
			if spec.Err == nil || spec.Err.Error() != tc.err {
				t.Errorf("error %v, want %s", spec.Err, tc.err)
			}
			continue
		}
		if got := spec.New().(operators.Aligned).MaxDrift(); spec.Err != nil || got != tc.want {
			t.Errorf("drift %d, error %v; want %d", got, spec.Err, tc.want)
		}
	}
}

func TestEventTimeChangesACopyOfTheEvent(t *testing.T) {
	h, _, _ := generator(t, 0)
	ev := stream.Event[int64]{Value: 5, Timestamp: 1, Key: []byte("k")}
	if err := h.Send(&ev); err != nil {
		t.Fatal(err)
	}
	if out := h.Output()[0]; out.Timestamp != 5 || string(out.Key) != "k" || ev.Timestamp != 1 {
		t.Fatalf("out %+v, in %+v", out, ev)
	}
}

func TestAnEventOfASplitThatIsNotOpenIsAnError(t *testing.T) {
	h, _, _ := generator(t, 0)
	if err := h.Send(&stream.Event[int64]{Split: 3}); err == nil {
		t.Fatal("no error")
	}
}

// The ends of time do not wrap around.
func TestExtremeTimestamps(t *testing.T) {
	_, send, want := generator(t, time.Hour)
	send(0, stream.MinTime+1)
	want(stream.MinTime, false)
	for _, w := range []operators.Assigner{operators.Tumbling(time.Hour), operators.Hopping(time.Hour, time.Minute), operators.Session(time.Hour)} {
		h := operatortest.New(t, operators.WindowCount(w.WithOffset(0), operators.WindowOptions[string]{AllowedLateness: time.Hour}))
		for _, ts := range []int64{stream.MinTime, stream.MinTime + 3_600_000, stream.MinTime + 3_600_001, -1, 0, stream.MaxTime - 3_600_000, stream.MaxTime} {
			h.Process("k", "", ts)
		}
		h.Watermark(stream.MaxTime)
		if h.Entries() != 0 {
			t.Errorf("%d entries left", h.Entries())
		}
	}
}

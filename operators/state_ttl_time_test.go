package operators_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

// Times of the one kind mean nothing to the other: an entry that was dated by event time is not taken for one of long ago by
// the clock, nor the other way round for one that never expires. A job asks for --drop-state before it comes to that.
func TestATTLOfAnotherTimeReadsNoDatesOfTheOld(t *testing.T) {
	spec := func(of operators.TTLTime) operators.Spec[string, operators.KeyCount] {
		return operators.WithTTL(operators.Count[string](), operators.TTL{After: time.Hour, Time: of})
	}
	const ms = 1
	hour := time.Hour.Milliseconds()
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	now := at + 5*365*24*hour

	h := operatortest.New(t, spec(operators.TTLEventTime))
	h.Process("ann", "x", at)
	h.Process("ann", "x", at+ms)
	h = operatortest.Restore(t, spec(operators.TTLProcessingTime), h.Snapshot())
	h.Clock(now)
	h.Process("ann", "x", at+2*ms)
	if got, want := fmt.Sprint(h.Values()), "[{ann 3}]"; got != want {
		t.Errorf("from event to processing time: %s, want %s", got, want)
	}

	h = operatortest.New(t, spec(operators.TTLProcessingTime))
	h.Clock(now)
	h.Process("ann", "x", at)
	h = operatortest.Restore(t, spec(operators.TTLEventTime), h.Snapshot())
	h.Process("ann", "x", at+ms)
	h.Process("ann", "x", at+100*hour)
	h.Watermark(at + 200*hour)
	h.Process("ann", "x", at+300*hour)
	if got, want := fmt.Sprint(h.Values()), "[{ann 2} {ann 1} {ann 1}]"; got != want {
		t.Errorf("from processing to event time: %s, want %s", got, want)
	}
}

package operators_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
)

// An event is in time as long as no window that it may fall into has fired.
func TestWindowsTellWhetherAnEventIsInTime(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, c := range []struct {
		name    string
		windows operators.Assigner
		ts      int64
		// last is the greatest watermark at which the event is in time.
		last int64
	}{
		{"first of a tumbling window", operators.Tumbling(ms(10)), 20, 28},
		{"last of a tumbling window", operators.Tumbling(ms(10)), 29, 28},
		{"before the epoch", operators.Tumbling(ms(10)), -1, -2},
		{"with an offset", operators.Tumbling(ms(10)).WithOffset(ms(3)), 20, 21},
		{"the first of the hopping windows that hold it", operators.Hopping(ms(10), ms(5)), 22, 23},
		{"windows that overlap much", operators.Hopping(ms(100), ms(10)), 205, 208},
		{"a session that ends where it begins", operators.Session(ms(10)), 20, 18},
	} {
		t.Run(c.name, func(t *testing.T) {
			op := operators.WindowCount[int](c.windows, operators.WindowOptions[int]{}).New().(operators.Punctual)
			if !op.InTime(c.ts, c.last) || op.InTime(c.ts, c.last+1) {
				t.Errorf("in time at %d: %v, at %d: %v", c.last, op.InTime(c.ts, c.last), c.last+1, op.InTime(c.ts, c.last+1))
			}
		})
	}
	// In none of the windows: they begin every 50 ms and last 10.
	gaps := operators.WindowCount[int](operators.Hopping(ms(10), ms(50)), operators.WindowOptions[int]{}).New().(operators.Punctual)
	if !gaps.InTime(20, 1000) {
		t.Error("an event between two windows is late for none")
	}
}

package operators

import (
	"time"

	"github.com/weirstream/weir/stream"
)

// addTime and subTime move a time by d >= 0 milliseconds and stop at the ends of time.
func addTime(t, d int64) int64 {
	if t > stream.MaxTime-d {
		return stream.MaxTime
	}
	return t + d
}

func subTime(t, d int64) int64 {
	if t < stream.MinTime+d {
		return stream.MinTime
	}
	return t - d
}

// ceilMillis is d in milliseconds; a part of one counts as one, so that a bound is never less than was asked for.
func ceilMillis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Millisecond) + 1
}

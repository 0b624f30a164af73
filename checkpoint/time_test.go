package checkpoint

import (
	"testing"
	"time"

	"github.com/weirstream/weir/stream"
)

func TestATimeIsShownAsOptionsTakeIt(t *testing.T) {
	for _, test := range []struct {
		ms   int64
		want string
	}{
		{1767225600000, "2026-01-01T00:00:00.000Z"}, {1767225600007, "2026-01-01T00:00:00.007Z"}, {-1, "1969-12-31T23:59:59.999Z"},
		{253_402_300_800_000, "253402300800000"}, {stream.MinTime, "-9223372036854775808"},
	} {
		got := TimeText(test.ms)
		if got != test.want {
			t.Errorf("%d is %s, want %s", test.ms, got, test.want)
		}
		if back, err := time.Parse(time.RFC3339, got); err == nil && back.UnixMilli() != test.ms {
			t.Errorf("%s is read as %d", got, back.UnixMilli())
		}
	}
}

package checkpoint

import (
	"strconv"
	"time"
)

// TimeText is a time in milliseconds since the Unix epoch as people are shown it, wherever they are: RFC 3339 in UTC with
// milliseconds, as YAML jobs write timestamps and as options take them. What is no year of four digits stays a number.
func TimeText(ms int64) string {
	const year0, year10000 = -62_167_219_200_000, 253_402_300_800_000
	if ms < year0 || ms >= year10000 {
		return strconv.FormatInt(ms, 10)
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

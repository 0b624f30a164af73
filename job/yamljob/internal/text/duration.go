package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration as time.ParseDuration does, and days: 1d is 24h.
func ParseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseInt(days, 10, 32); err == nil && n >= -100_000 && n <= 100_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration, such as 200ms, 5s, 1m, 24h or 1d", s)
	}
	return d, nil
}

package flights

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
)

//go:embed expected.py
var expected string

// Key is what the results are per: a carrier and a day in UTC, such as 2013-01-31.
type Key struct{ Carrier, Day string }

// Result is one row: the mean and the largest delay are nil if every flight of the day was cancelled.
type Result struct {
	Flights, Cancelled int64
	Mean, Max          *float64
}

// Expected lets SQLite compute the results from the file that Fetch returned.
func Expected(ctx context.Context, path string) (map[Key]Result, error) {
	out, err := exec.CommandContext(ctx, "python3", "-c", expected, path).Output()
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	results := map[Key]Result{}
	var flights, cancelled int64
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var k Key
		var r Result
		row := []any{&k.Carrier, &k.Day, &r.Flights, &r.Cancelled, &r.Mean, &r.Max}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("sqlite: %s: %w", lines.Text(), err)
		}
		results[k] = r
		flights += r.Flights
		cancelled += r.Cancelled
	}
	if flights != Rows || cancelled != Cancelled {
		return nil, fmt.Errorf("sqlite: %d flights, %d cancelled, want %d and %d", flights, cancelled, Rows, Cancelled)
	}
	return results, nil
}

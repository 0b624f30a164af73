package expression

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/text"
)

// All of them are in UTC.
func init() {
	part := func(name string, f func(time.Time) int) {
		define(name, one(row.KindTimestamp, row.KindInt, func(a row.Value) row.Value {
			return row.Int(int64(f(time.UnixMilli(a.Int()).UTC())))
		}))
	}
	part("year", time.Time.Year)
	part("month", func(t time.Time) int { return int(t.Month()) })
	part("day", time.Time.Day)
	part("hour", time.Time.Hour)
	part("minute", time.Time.Minute)
	part("second", time.Time.Second)
	// Monday is 1 and Sunday 7, as in ISO 8601.
	part("weekday", func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 })
	define("date", one(row.KindTimestamp, row.KindString, func(a row.Value) row.Value {
		return row.String(string(row.AppendTime(make([]byte, 0, 24), a.Int())[:10]))
	}))
	define("truncate", form{
		params: []row.Kind{row.KindTimestamp, row.KindString}, result: row.KindTimestamp, constantArg: 2,
		make: func(v row.Value) (op1, error) {
			d, err := text.ParseDuration(v.Str())
			if err != nil || d < time.Millisecond {
				return nil, fmt.Errorf("%q is not a duration of a millisecond or more, such as 1h", v.Str())
			}
			size := d.Milliseconds()
			return func(a row.Value) row.Value {
				rest := a.Int() % size
				if rest < 0 {
					rest += size
				}
				return row.Timestamp(a.Int() - rest)
			}, nil
		}})
	define("duration", form{
		params: []row.Kind{row.KindString}, result: row.KindInt, constantArg: 1,
		make: func(v row.Value) (op1, error) {
			d, err := text.ParseDuration(v.Str())
			return func(row.Value) row.Value { return row.Int(d.Milliseconds()) }, err
		}})
	define("timestamp",
		one(row.KindTimestamp, row.KindTimestamp, func(a row.Value) row.Value { return a }),
		one(row.KindInt, row.KindTimestamp, func(a row.Value) row.Value { return row.Timestamp(a.Int()) }),
		one(row.KindString, row.KindTimestamp, func(a row.Value) row.Value { return parseTime(a.Str()) }),
		one(row.KindJSON, row.KindTimestamp, func(a row.Value) row.Value { return parseTime(row.Text(a.Str())) }))
}

// parseTime reads RFC 3339, or digits that are milliseconds; anything else is null.
func parseTime(s string) row.Value {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return row.Timestamp(t.UnixMilli())
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return row.Timestamp(n)
	}
	return row.Null
}

package main

import (
	"strconv"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// event is what the works need of a record; the input has more fields.
type event struct {
	User   string  `json:"user"`
	Amount float64 `json:"amount"`
	TS     int64   `json:"ts"`
}

// encodeWindow writes {"user","window","count"}. The type is the engine's, without names for JSON.
func encodeWindow(c operators.KeyWindowCount, r *stream.Record) error {
	r.Value = append(r.Value, `{"user":"`...)
	r.Value = append(r.Value, c.Key...)
	r.Value = append(r.Value, `","window":`...)
	r.Value = strconv.AppendInt(r.Value, c.Start, 10)
	r.Value = append(r.Value, `,"count":`...)
	r.Value = strconv.AppendInt(r.Value, c.Count, 10)
	r.Value = append(r.Value, '}')
	return nil
}

package main

import (
	"strconv"
	"time"
	"unsafe"

	"github.com/bytedance/sonic"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// event is what the works need of a record; the input has more fields.
type event struct {
	User   string  `json:"user"`
	Amount float64 `json:"amount"`
	TS     int64   `json:"ts"`
}

// decode parses with the same library as the peer limit-json. The strings of an event share the record's bytes.
func decode(r *stream.Record) (e event, err error) {
	return e, sonic.ConfigFastest.UnmarshalFromString(unsafe.String(unsafe.SliceData(r.Value), len(r.Value)), &e)
}

func passThrough(g *job.Graph, from source.Spec, to sink.Spec) {
	job.To(job.From(g, "events", from, job.Raw), "out", to, job.RawOut)
}

func filterAndProject(g *job.Graph, from source.Spec, to sink.Spec) {
	events := job.From(g, "events", from, decode)
	large := job.Via(events, "large", operators.Filter(func(e event) bool { return e.Amount > 20 }))
	job.To(large, "out", to, func(e event, r *stream.Record) error {
		r.Value = append(r.Value, `{"user":"`...)
		r.Value = append(r.Value, e.User...)
		r.Value = append(r.Value, `","amount":`...)
		r.Value = strconv.AppendFloat(r.Value, e.Amount, 'f', -1, 64)
		r.Value = append(r.Value, `,"ts":`...)
		r.Value = strconv.AppendInt(r.Value, e.TS, 10)
		r.Value = append(r.Value, '}')
		return nil
	})
}

type total struct {
	Count int64
	Sum   float64
}

type userTotal struct {
	user string
	total
}

func countAndSum(g *job.Graph, from source.Spec, to sink.Spec) {
	byUser := job.KeyBy(job.From(g, "events", from, decode), "by-user", func(e event) string { return e.User })
	totals := job.Via(byUser, "total", operators.Aggregate(operators.Aggregator[event, total, userTotal]{
		Add:    func(t total, e event) (total, error) { return total{t.Count + 1, t.Sum + e.Amount}, nil },
		Result: func(p operators.Pane, t total) (userTotal, error) { return userTotal{p.Key, t}, nil },
	}))
	job.To(totals, "out", to, func(u userTotal, r *stream.Record) error {
		r.Value = append(r.Value, `{"user":"`...)
		r.Value = append(r.Value, u.user...)
		r.Value = append(r.Value, `","count":`...)
		r.Value = strconv.AppendInt(r.Value, u.Count, 10)
		r.Value = append(r.Value, `,"sum":`...)
		r.Value = strconv.AppendFloat(r.Value, u.Sum, 'f', -1, 64)
		r.Value = append(r.Value, '}')
		return nil
	})
}

func windows(g *job.Graph, from source.Spec, to sink.Spec) {
	events := job.Via(job.From(g, "events", from, decode), "time",
		operators.EventTimeMillis(func(e event) int64 { return e.TS }, 5*time.Second))
	byUser := job.KeyBy(events, "by-user", func(e event) string { return e.User })
	counts := job.Via(byUser, "count", operators.WindowCount(operators.Tumbling(time.Minute), operators.WindowOptions[event]{}))
	job.To(counts, "out", to, func(c operators.KeyWindowCount, r *stream.Record) error {
		r.Value = append(r.Value, `{"user":"`...)
		r.Value = append(r.Value, c.Key...)
		r.Value = append(r.Value, `","window":`...)
		r.Value = strconv.AppendInt(r.Value, c.Start, 10)
		r.Value = append(r.Value, `,"count":`...)
		r.Value = strconv.AppendInt(r.Value, c.Count, 10)
		r.Value = append(r.Value, '}')
		return nil
	})
}

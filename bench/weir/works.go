package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// works build the jobs that are measured.
var works = map[string]func(*job.Graph, source.Spec, sink.Spec){
	"w1": passThrough,
	"w2": filterAndProject,
	"w3": countAndSum,
	"w4": countInWindows,
	"w7": joinWithin,
}

func events(g *job.Graph, from source.Spec) *job.Stream[event] {
	return job.From(g, "events", from, job.JSON[event](g))
}

func passThrough(g *job.Graph, from source.Spec, to sink.Spec) {
	job.To(job.From(g, "events", from, job.Raw), "out", to, job.RawOut)
}

func filterAndProject(g *job.Graph, from source.Spec, to sink.Spec) {
	large := job.Via(events(g, from), "large", operators.Filter(func(e event) bool { return e.Amount > 20 }))
	job.To(large, "out", to, job.JSONOut[event](g))
}

func countAndSum(g *job.Graph, from source.Spec, to sink.Spec) {
	byUser := job.KeyBy(events(g, from), "by-user", func(e event) string { return e.User })
	job.To(job.Via(byUser, "total", operators.Aggregate(totalPerUser)), "out", to, job.JSONOut[userTotal](g))
}

func countInWindows(g *job.Graph, from source.Spec, to sink.Spec) {
	timed := job.Via(events(g, from), "time",
		operators.EventTimeMillis(func(e event) int64 { return e.TS }, 5*time.Second, operators.MaxDrift(maxDrift)))
	byUser := job.KeyBy(timed, "by-user", func(e event) string { return e.User })
	counts := job.Via(byUser, "count", operators.WindowCount(operators.Tumbling(time.Minute), operators.WindowOptions[event]{}))
	job.To(counts, "out", to, encodeWindow)
}

// total is the state of w3.
type total struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
}

type userTotal struct {
	User string `json:"user"`
	total
}

var totalPerUser = operators.Aggregator[event, total, userTotal]{
	Add:    func(t total, e event) (total, error) { return total{t.Count + 1, t.Sum + e.Amount}, nil },
	Result: func(p operators.Pane, t total) (userTotal, error) { return userTotal{p.Key, t}, nil },
	Codec:  totalCodec{},
}

// totalCodec writes a total in 16 bytes, big endian, as the peers on the JVM do.
type totalCodec struct{}

func (totalCodec) Type() string { return "bench.total" }
func (totalCodec) Version() int { return 1 }

func (totalCodec) Append(dst []byte, t total) ([]byte, error) {
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Count))
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(t.Sum)), nil
}

func (totalCodec) Decode(b []byte) (total, error) {
	if len(b) != 16 {
		return total{}, fmt.Errorf("a total of %d bytes: want 16", len(b))
	}
	return total{int64(binary.BigEndian.Uint64(b)), math.Float64frombits(binary.BigEndian.Uint64(b[8:]))}, nil
}

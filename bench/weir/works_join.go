package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// joinWithin is w7: the large events of each user with the small ones of the minute after them.
func joinWithin(g *job.Graph, from source.Spec, to sink.Spec) {
	timed := job.Via(events(g, from), "time",
		operators.EventTimeMillis(func(e event) int64 { return e.TS }, 5*time.Second, operators.MaxDrift(maxDrift)))
	large := side(timed, "large", func(e event) bool { return e.Amount > 20 })
	small := side(timed, "small", func(e event) bool { return e.Amount <= 20 })
	pairs := job.Connect(large, small, "join", operators.IntervalJoin(operators.Between(0, time.Minute),
		func(p operators.Pair[half, half]) (pair, error) {
			return pair{p.Key, p.A.amount, p.B.amount, p.TimeA, p.TimeB}, nil
		}, operators.JoinOptions[half, half]{CodecA: halfCodec{}, CodecB: halfCodec{}}))
	job.To(pairs, "out", to, job.JSONOut[pair](g))
}

// side is one of the two streams that the input is split into.
func side(s *job.Stream[event], name string, keep func(event) bool) *job.Stream[half] {
	halves := job.Via(s, name, operators.FlatMap(func(e event, emit func(half) error) error {
		if !keep(e) {
			return nil
		}
		// It waits for a minute of event time: without a copy it would keep the batch that it came in.
		return emit(half{strings.Clone(e.User), e.Amount})
	}))
	return job.KeyBy(halves, name+"-by-user", func(h half) string { return h.user })
}

// half is what waits for a partner.
type half struct {
	user   string
	amount float64
}

// pair is a result of w7.
type pair struct {
	User string  `json:"user"`
	A    float64 `json:"a"`
	B    float64 `json:"b"`
	TSA  int64   `json:"ts_a"`
	TSB  int64   `json:"ts_b"`
}

// halfCodec writes the amount in 8 bytes, big endian: the user is the key of the state, and is not asked for again.
type halfCodec struct{}

func (halfCodec) Type() string { return "bench.half" }
func (halfCodec) Version() int { return 1 }

func (halfCodec) Append(dst []byte, h half) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(h.amount)), nil
}

func (halfCodec) Decode(b []byte) (half, error) {
	if len(b) != 8 {
		return half{}, fmt.Errorf("half a pair of %d bytes: want 8", len(b))
	}
	return half{amount: math.Float64frombits(binary.BigEndian.Uint64(b))}, nil
}

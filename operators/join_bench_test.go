package operators_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// BenchmarkIntervalJoin gives events to both inputs in turn, as many at a time as are prefetched. A key's events are 200 s apart.
func BenchmarkIntervalJoin(b *testing.B) {
	for name, between := range map[string]operators.Interval{
		"-20s to 20s": operators.Between(-20*time.Second, 20*time.Second), "0s to 1m": operators.Between(0, time.Minute),
	} {
		b.Run(name, func(b *testing.B) {
			join := operators.IntervalJoin(between, func(p operators.Pair[int64, int64]) (int64, error) { return p.A + p.B, nil },
				operators.JoinOptions[int64, int64]{})
			bench(b, operators.Spec[int64, int64]{New: func() operators.Operator[int64, int64] { return &inTurn{join: join.New()} }})
		})
	}
}

// inTurn gives events to the inputs of a join in turn.
type inTurn struct {
	join operators.Operator2[int64, int64, int64]
	n    int
}

func (o *inTurn) Open(ctx *operators.Context) error { return o.join.Open(ctx) }

// isA says whether the next event goes to the first input.
func (o *inTurn) isA() bool { return o.n/operators.PrefetchMost%2 == 0 }

func (o *inTurn) Prefetch(events []stream.Event[int64]) {
	p, ok := o.join.(operators.Prefetcher2[int64, int64])
	switch {
	case !ok:
	case o.isA():
		p.PrefetchA(events)
	default:
		p.PrefetchB(events)
	}
}

func (o *inTurn) Process(ev *stream.Event[int64], emit stream.Emit[int64]) error {
	a := o.isA()
	o.n++
	if a {
		return o.join.ProcessA(ev, emit)
	}
	return o.join.ProcessB(ev, emit)
}

func (o *inTurn) OnWatermark(watermark int64, emit stream.Emit[int64]) error {
	return o.join.(operators.WatermarkHandler[int64]).OnWatermark(watermark, emit)
}

package operators_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// benchKeys is more keys than the processor's caches take.
const benchKeys = 200_000

// bench measures Process for events of random keys, one millisecond apart for every four, as the works of bench/weir have
// them; some at a time are prefetched, a watermark follows every 256 events, and a checkpoint every 500,000.
func bench[Out any](b *testing.B, spec operators.Spec[int64, Out]) {
	ctx := &operators.Context{KeyGroups: stream.DefaultKeyGroups, Groups: stream.KeyGroupRange{Last: stream.DefaultKeyGroups - 1},
		Store: &operatortest.Store{}, Now: func() int64 { return 0 }, Late: func() {}}
	op := spec.New()
	if err := op.Open(ctx); err != nil {
		b.Fatal(err)
	}
	events := make([]stream.Event[int64], benchKeys)
	for i := range events {
		key := fmt.Appendf(nil, "u%07d", i)
		events[i] = stream.Event[int64]{Value: 1, Key: key}
		events[i].Group, events[i].Hash = stream.Locate(key, stream.DefaultKeyGroups)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	emit := stream.Emit[Out](func(*stream.Event[Out]) error { return nil })
	timed, _ := op.(operators.WatermarkHandler[Out])
	fetcher, _ := op.(operators.Prefetcher[int64])
	n, checkpoint := int64(0), int64(0)
	var next [operators.PrefetchMost]stream.Event[int64]
	process := func() {
		at := n % operators.PrefetchMost
		if at == 0 {
			for i := range next {
				next[i] = events[rng.IntN(len(events))]
				next[i].Timestamp = (n + int64(i)) / 4
			}
			if fetcher != nil {
				fetcher.Prefetch(next[:])
			}
		}
		ev := &next[at]
		n++
		if err := op.Process(ev, emit); err != nil {
			b.Fatal(err)
		}
		if timed != nil && n%256 == 0 {
			if err := timed.OnWatermark(ev.Timestamp-5000, emit); err != nil {
				b.Fatal(err)
			}
		}
		if n%500_000 == 0 {
			checkpoint++
			for _, t := range ctx.Tables() {
				if f := t.Freeze(checkpoint); f != nil {
					if err := f.Encode(discard{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	}
	for range 1_000_000 {
		process()
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := userTime()
	for range b.N {
		process()
	}
	b.ReportMetric(float64(userTime()-before)/float64(b.N), "user-ns/op")
}

// userTime is what the process has used of the processor, without the system's part: steadier than time on a busy machine.
func userTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano())
}

type discard struct{}

func (discard) Put(stream.KeyGroup, uint16, string, []byte, []byte) error { return nil }
func (discard) Delete(stream.KeyGroup, uint16, string, []byte) error      { return nil }

func BenchmarkAggregate(b *testing.B) { bench(b, operators.Aggregate(sumOf)) }

func BenchmarkWindowCount(b *testing.B) {
	bench(b, operators.WindowCount(operators.Tumbling(time.Minute), operators.WindowOptions[int64]{}))
}

func BenchmarkWindowCountHopping(b *testing.B) {
	bench(b, operators.WindowCount(operators.Hopping(time.Minute, 20*time.Second), operators.WindowOptions[int64]{}))
}

func BenchmarkWindowCountSession(b *testing.B) {
	bench(b, operators.WindowCount(operators.Session(20*time.Second), operators.WindowOptions[int64]{}))
}

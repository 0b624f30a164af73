package pebblestate

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirstream/weir/stream"
)

// benchDeltas are the changes of 200,000 keys at random, as W3 of bench/weir makes them: 36 deltas of 50,000.
func benchDeltas() [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var reprs [][]byte
	for range 36 {
		w := newDelta(0, 0)
		for range 50_000 {
			key := fmt.Sprintf("u%07d", rng.IntN(200_000))
			value := binary.BigEndian.AppendUint64(make([]byte, 8, 16), rng.Uint64())
			if err := w.Put(stream.KeyGroupOf([]byte(key), 128), 0, key, nil, value); err != nil {
				panic(err)
			}
		}
		reprs = append(reprs, w.Bytes())
	}
	return reprs
}

func BenchmarkLastChanges(b *testing.B) {
	reprs := benchDeltas()
	b.ReportAllocs()
	for b.Loop() {
		c, err := lastChanges(reprs)
		if err != nil || c.len() < 190_000 {
			b.Fatal(c, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(36*50_000), "ns/change")
}

func BenchmarkOverlayGet(b *testing.B) {
	o, err := newOverlay(benchDeltas(), nil)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := o.get(o.sorted().at(rng.IntN(o.len())).key); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkNewOverlay(b *testing.B) {
	reprs := benchDeltas()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newOverlay(reprs, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(36*50_000), "ns/change")
}

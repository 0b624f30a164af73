package pebblestate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/stream"
)

// BenchmarkCold is a state of 2 M keys with a tenth of the memory that W5 of bench/weir has for 20 M: what it costs to
// write bases of it, to read keys that are there, and to learn that others are not.
func BenchmarkCold(b *testing.B) {
	const keys, base = 2_000_000, 100_000
	ctx := context.Background()
	s, err := Open(ctx, Options{Dir: b.TempDir(), CacheBytes: 6400 << 10}, Restore{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	key := func(i int) (string, stream.KeyGroup) {
		k := fmt.Sprintf("u%08d", i)
		return k, stream.KeyGroupOf([]byte(k), 128)
	}
	checkpoint, written := int64(0), int64(0)
	write := func(next func(i int) int) {
		w := newDelta(0, 0)
		for i := range base {
			k, group := key(next(i))
			value := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 1+rng.Uint64N(3)), rng.Uint64N(100_000))
			if err := w.Put(group, 0, k, nil, value); err != nil {
				b.Fatal(err)
			}
		}
		checkpoint++
		if err := s.AddDelta(checkpoint, w); err != nil {
			b.Fatal(err)
		}
		files, err := s.WriteBase(ctx, checkpoint)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range files.New {
			written += f.Size
		}
		if err := s.Release(files); err != nil {
			b.Fatal(err)
		}
	}
	perm := rng.Perm(keys) // keys come in no order
	began, cpu := time.Now(), cpuTime()
	for i := range keys / base {
		write(func(j int) int { return perm[i*base+j] })
	}
	report := func(n int64) {
		m := s.db.Metrics()
		b.Logf("%d bases: %s, CPU %s; %d MB of files; read amplification %d, %d MB of tables", n,
			time.Since(began).Round(time.Millisecond), cpuTime()-cpu, written>>20, m.ReadAmp(), m.DiskSpaceUsage()>>20)
		began, cpu, written = time.Now(), cpuTime(), 0
	}
	report(checkpoint)
	for range 20 {
		write(func(int) int { return rng.IntN(keys) })
	}
	report(20)
	for name, shift := range map[string]int{"present": 0, "absent": keys} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			cpu := cpuTime()
			for b.Loop() {
				k, group := key(rng.IntN(keys) + shift)
				if _, ok, err := s.Get(group, 0, k, nil); err != nil || ok != (shift == 0) {
					b.Fatal(ok, err)
				}
			}
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is what the process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

//go:build integration && soak

package integration

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// soakWatch looks at the output and at the process from outside.
type soakWatch struct {
	s       *soak
	moved   time.Time // when the end of the output last moved
	longest time.Duration
	rss     int64
	// samples, and those in which the output had moved within a second.
	samples, fresh int
}

func newSoakWatch(s *soak) *soakWatch { return &soakWatch{s: s, moved: time.Now()} }

func (w *soakWatch) run(ctx context.Context) {
	var end int64
	for harness.Pass(ctx, 200*time.Millisecond) {
		if now, ok := w.end(ctx); ok && now != end {
			end = now
			w.s.mu.Lock()
			w.longest = max(w.longest, time.Since(w.moved))
			w.moved = time.Now()
			w.s.mu.Unlock()
		}
		w.s.mu.Lock()
		w.samples++
		if time.Since(w.moved) < time.Second {
			w.fresh++
		}
		if p := w.s.current; p != nil {
			w.rss = max(w.rss, rss(p.PID()))
		}
		w.s.mu.Unlock()
	}
}

// end is the last stable offset of the output, added up; not ok while a broker is away.
func (w *soakWatch) end(ctx context.Context) (sum int64, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	ends, err := w.s.cluster.Admin.ListCommittedOffsets(ctx, w.s.j.out)
	if err != nil || ends.Error() != nil {
		return 0, false
	}
	for _, partitions := range ends {
		for _, o := range partitions {
			sum += o.Offset
		}
	}
	return sum, true
}

func (w *soakWatch) stall() time.Duration {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return time.Since(w.moved)
}

func (w *soakWatch) live() float64 { return float64(w.fresh) / float64(max(1, w.samples)) }

// rss is the memory of a process in bytes, 0 if it is gone.
func rss(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

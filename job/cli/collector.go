package cli

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/job"
)

// tuneCollector sets Go's collector to the memory budget of the job: it runs more often rather than let the heap grow beyond
// the budget. GOMEMLIMIT, if set, is left as it is. A job whose own code keeps more alive than the budget foresees gets a
// quarter more than that instead of a collector that never rests. The function that is returned ends it.
func tuneCollector(o *job.Options) (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	c := o.Checkpoint
	c.EnsureDefaults()
	buffered := o.Producer.MaxBuffered
	if buffered == 0 {
		buffered = 64 << 20
	}
	// Output that waits is rarely more than a quarter of what may.
	budget := doctor.Budget(&c, buffered/4)
	debug.SetMemoryLimit(budget)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for limit := budget; ; {
			select {
			case <-tick.C:
				metrics.Read(sample)
				if l := memoryLimit(budget, int64(sample[0].Value.Uint64())); l != limit {
					limit = l
					debug.SetMemoryLimit(l)
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// memoryLimit is the limit for the collector while so many bytes are alive.
func memoryLimit(budget, alive int64) int64 { return max(budget, alive+alive/4+doctor.Overhead) }

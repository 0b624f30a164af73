package cli

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/job"
)

// tuneCollector sets Go's collector to the memory budget of the job: it runs more often rather than let the heap grow beyond
// what doctor.Heap says. GOMEMLIMIT, if set, is left as it is. A job whose own code keeps more alive than the budget foresees,
// and not only for a moment, gets an eighth more than that instead of a collector that never rests. The function that is
// returned ends it.
func tuneCollector(o *job.Options) (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	c := o.Checkpoint
	c.EnsureDefaults()
	budget := doctor.Heap(&c)
	debug.SetMemoryLimit(budget)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		var alive [stays]int64
		for limit, i := budget, 0; ; i++ {
			select {
			case <-tick.C:
				metrics.Read(sample)
				alive[i%stays] = int64(sample[0].Value.Uint64())
				if l := memoryLimit(budget, slices.Min(alive[:])); l != limit {
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

// stays is for how many seconds something has to be alive before it counts: the lists of a base or a merge come and go.
const stays = 8

// memoryLimit is the limit for the collector while so many bytes are alive.
func memoryLimit(budget, alive int64) int64 { return max(budget, alive+alive/8+doctor.Overhead/2) }

package web

import (
	"fmt"
	"sync"
	"time"

	"github.com/weirstream/weir/internal/runtime"
)

// health watches whether checkpoints that were begun also end. The engine ends an attempt whose checkpoint takes too long,
// so one that is far past its timeout means that the process is stuck.
type health struct {
	mu       sync.Mutex
	begun    map[int64]time.Time
	duration time.Duration
	patience time.Duration
}

// defaultPatience is for a job whose checkpoint timeout is not known.
const defaultPatience = 90 * time.Second

func (h *health) triggered(checkpoint int64, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun == nil {
		h.begun = map[int64]time.Time{}
	}
	h.begun[checkpoint] = at
}

func (h *health) completed(checkpoint int64, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.begun, checkpoint)
	h.duration = took
}

// reset forgets the checkpoints of an attempt that has ended.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.begun)
}

// lastDuration is how long the latest checkpoint took, in milliseconds.
func (h *health) lastDuration() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return float64(h.duration) / float64(time.Millisecond)
}

// wedged says why a job is stuck, or has ended while its process has not; "" for a job that is well. A job that waits to
// restart is well: it does what it is told.
func (h *health) wedged(now time.Time, st runtime.Status) string {
	if st.Phase == runtime.Ended {
		return "the job has ended"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	patience := h.patience
	if patience == 0 {
		patience = defaultPatience
	}
	for id, at := range h.begun {
		if took := now.Sub(at); took > patience {
			return fmt.Sprintf("checkpoint %d was begun %s ago and has neither completed nor failed", id, took.Round(time.Second))
		}
	}
	return ""
}

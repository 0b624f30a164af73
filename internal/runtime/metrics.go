package runtime

import (
	"sync"
	"sync/atomic"
)

// Metrics is what a running job counts, for whoever shows it. It outlives attempts.
type Metrics struct {
	mu    sync.Mutex
	steps map[stepKey]*StepMetrics

	// Restarts counts attempts that ended and were followed by another.
	Restarts atomic.Int64
}

type stepKey struct {
	step    string
	subtask int
}

// StepMetrics is what one subtask of a step counts. Records and bytes are counted where they enter (sources) and leave
// (sinks) the job.
type StepMetrics struct {
	RecordsIn, BytesIn, RecordsOut, BytesOut atomic.Int64
	BadRecords, Late                         atomic.Int64
	// Watermark is the step's event time, stream.MinTime before there is any.
	Watermark                atomic.Int64
	StateEntries, StateBytes atomic.Int64
}

func (m *StepMetrics) add(c *counts) {
	if *c == (counts{}) {
		return
	}
	m.RecordsIn.Add(c.recordsIn)
	m.BytesIn.Add(c.bytesIn)
	m.RecordsOut.Add(c.recordsOut)
	m.BytesOut.Add(c.bytesOut)
	*c = counts{}
}

func (m *Metrics) step(name string, subtask int) *StepMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.steps == nil {
		m.steps = map[stepKey]*StepMetrics{}
	}
	k := stepKey{name, subtask}
	if m.steps[k] == nil {
		m.steps[k] = &StepMetrics{}
	}
	return m.steps[k]
}

// Each calls fn for every subtask of every step.
func (m *Metrics) Each(fn func(step string, subtask int, s *StepMetrics)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, s := range m.steps {
		fn(k.step, k.subtask, s)
	}
}

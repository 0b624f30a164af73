package web

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/sink"
)

// Metrics are a job's metrics in Prometheus' form: what the engine counts, read when asked for, and what the events of
// its checkpoints tell. docs/operations.md lists them; a test compares.
type Metrics struct {
	registry *prometheus.Registry
	health   health

	completed prometheus.Counter
	failures  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	size      prometheus.Gauge
	changed   prometheus.Counter
	uploaded  prometheus.Counter
	bases     prometheus.Counter
	recovery  prometheus.Histogram
	retries   prometheus.Counter
}

// The steps by which weir_checkpoint_duration_seconds is split.
const (
	stepAlign    = "align"
	stepSnapshot = "snapshot"
	stepPersist  = "persist"
	stepPrepare  = "prepare"
	stepCommit   = "commit"
	stepTotal    = "total"
)

// The reasons by which weir_checkpoint_failures_total is split.
const (
	failExpired   = "expired"
	failFenced    = "fenced"
	failUncertain = "outcome unknown"
	failOther     = "failed"
)

// NewMetrics makes a job's metrics and registers them with a registry of their own. version is the binary's.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		completed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_checkpoints_completed_total", Help: "Checkpoints that were committed."}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_checkpoint_failures_total", Help: "Checkpoints that ended without being committed, by reason."}, []string{"reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "weir_checkpoint_duration_seconds",
			Help:    "Time that a step of a checkpoint took; align and snapshot for each subtask, snapshot being the time in which it did not process.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 15)}, []string{"step"}), // 0.1 ms to 37 s
		size: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_checkpoint_size_bytes", Help: "Size of the latest checkpoint and of everything that it lists."}),
		changed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_checkpoint_changed_bytes_total", Help: "Encoded state changes of all checkpoints."}),
		uploaded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_checkpoint_uploaded_bytes_total", Help: "Bytes that checkpoints wrote to files in the storage."}),
		bases: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_checkpoint_bases_total", Help: "Bases that were made of the changes since the one before."}),
		recovery: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_recovery_duration_seconds", Help: "Time from the begin of a recovery to the attempt's first commit.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 14)}), // 5 ms to 41 s
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_storage_retries_total", Help: "Calls to the storage that failed and were tried again."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "weir_build_info", Help: "1, with the version of the binary.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(m.completed, m.failures, m.duration, m.size, m.changed, m.uploaded, m.bases, m.recovery, m.retries, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Every label value is there from the begin, so that a rate is right from its first increase.
	for _, s := range []string{stepAlign, stepSnapshot, stepPersist, stepPrepare, stepCommit, stepTotal} {
		m.duration.WithLabelValues(s)
	}
	for _, r := range []string{failExpired, failFenced, failUncertain, failOther} {
		m.failures.WithLabelValues(r)
	}
	return m
}

// Listener returns what listens to the job's checkpoints.
func (m *Metrics) Listener() *checkpoint.Listener {
	observe := func(step string) func(time.Duration) {
		o := m.duration.WithLabelValues(step)
		return func(d time.Duration) { o.Observe(d.Seconds()) }
	}
	align, snapshot := observe(stepAlign), observe(stepSnapshot)
	persist, prepare := observe(stepPersist), observe(stepPrepare)
	commit, total := observe(stepCommit), observe(stepTotal)
	return &checkpoint.Listener{
		OnTrigger:  func(e checkpoint.TriggerEvent) { m.health.triggered(e.Checkpoint, time.Now()) },
		OnAlign:    func(e checkpoint.AlignedEvent) { align(e.Took) },
		OnSnapshot: func(e checkpoint.SnapshotEvent) { snapshot(e.Pause) },
		OnPersist: func(e checkpoint.PersistEvent) {
			persist(e.Took)
			m.changed.Add(float64(e.Bytes))
			m.uploaded.Add(float64(e.Uploaded))
			if e.Base {
				m.bases.Inc()
			}
		},
		OnPrepare: func(e checkpoint.PrepareEvent) { prepare(e.Took) },
		OnComplete: func(e checkpoint.CompleteEvent) {
			commit(e.Commit)
			total(e.Took)
			m.completed.Inc()
			m.size.Set(float64(e.Size))
			m.health.completed(e.Checkpoint, e.Took)
		},
		OnFailed: func(e checkpoint.FailedEvent) {
			m.failures.WithLabelValues(failure(e)).Inc()
			m.health.reset()
		},
		OnRestart:    func(checkpoint.RestartEvent) { m.health.reset() },
		OnRestore:    func(e checkpoint.RestoreEvent) { m.recovery.Observe(e.Took.Seconds()) },
		OnStoreRetry: func(checkpoint.StoreRetryEvent) { m.retries.Inc() },
	}
}

func failure(e checkpoint.FailedEvent) string {
	var unknown *sink.UnknownOutcomeError
	var fenced *sink.FencedError
	switch {
	case e.Expired:
		return failExpired
	case errors.As(e.Err, &unknown):
		return failUncertain
	case errors.As(e.Err, &fenced):
		return failFenced
	}
	return failOther
}

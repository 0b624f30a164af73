package web

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/stream"
)

// collector reads what a job counts each time it is asked.
type collector struct {
	name string
	job  Job
	now  func() time.Time
	// kinds has the kind of each step, which says what there is to count.
	kinds map[string]*runtime.Node
}

var (
	byStep    = []string{"step", "subtask"}
	bySplit   = []string{"source", "topic", "partition"}
	descInfo  = desc("weir_job_info", "1, with the job's name, its attempt and its lineage.", "job_name", "attempt", "lineage")
	descPhase = desc("weir_job_phase", "1 for what the job does at the moment, 0 for the rest.", "phase")

	descRecordsIn  = desc("weir_records_in_total", "Records that a source read.", byStep...)
	descBytesIn    = desc("weir_bytes_in_total", "Bytes of keys and values that a source read.", byStep...)
	descRecordsOut = desc("weir_records_out_total", "Records that a sink wrote.", byStep...)
	descBytesOut   = desc("weir_bytes_out_total", "Bytes of keys and values that a sink wrote.", byStep...)
	descBad        = desc("weir_bad_records_total", "Bad records of a source, and bad results of a sink, that were skipped or went to a dead-letter topic.", byStep...)
	descLate       = desc("weir_late_records_total", "Records that came too late for their window.", byStep...)

	descWatermark    = desc("weir_watermark_seconds", "Event time that an operator has reached, in seconds since the Unix epoch; least over its subtasks.", "step")
	descWatermarkLag = desc("weir_watermark_lag_seconds", "How far an operator's event time is behind the clock.", "step")
	descEntries      = desc("weir_state_entries", "Entries of state in memory.", byStep...)
	descStateBytes   = desc("weir_state_bytes", "Estimated size of state in memory.", byStep...)

	descLag       = desc("weir_split_lag_records", "Records of a partition that have not been read yet.", bySplit...)
	descOffset    = desc("weir_split_offset", "Next offset of a partition to be read.", bySplit...)
	descSplitTime = desc("weir_split_event_time_seconds", "Greatest event time of a partition that was processed, in seconds since the Unix epoch. The least of them holds the watermark back.", bySplit...)
	descDiscovery = desc("weir_last_discovery_timestamp_seconds", "When a source last looked for new partitions, in seconds since the Unix epoch.", "source")

	descCheckpoint = desc("weir_checkpoint_id", "ID of the last committed checkpoint.")
	descAge        = desc("weir_checkpoint_age_seconds", "Time since the last commit. A job that has nothing to do commits nothing.")
	descRestarts   = desc("weir_restarts_total", "Attempts that ended and were followed by another.")
	descTxnAge     = desc("weir_transaction_age_seconds", "How long the oldest open transaction has been open; 0 if none is.")
	descOutputLag  = desc("weir_output_lag_records", "Records of a partition that the job writes which no read_committed reader sees yet, whoever keeps them from it, as of the last look.", "topic", "partition")
	descTxnTimeout = desc("weir_transaction_timeout_seconds", "After how long the broker aborts a transaction.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// phases are all that weir_job_phase shows.
var phases = []runtime.Phase{runtime.Starting, runtime.Recovering, runtime.Running, runtime.Waiting, runtime.Stopping, runtime.Ended}

// watch adds a job's own numbers to its metrics.
func (m *Metrics) watch(name string, job Job) {
	c := &collector{name: name, job: job, now: time.Now, kinds: map[string]*runtime.Node{}}
	config := job.Config()
	if config.Now != nil {
		c.now = func() time.Time { return time.UnixMilli(config.Now()) }
	}
	if config.Graph != nil {
		for _, n := range config.Graph.Nodes {
			c.kinds[n.Name] = n
		}
	}
	if t := config.Checkpoint.Timeout; t > 0 {
		m.health.patience = 2*t + 10*time.Second
	}
	m.registry.MustRegister(c)
}

// Describe implements [prometheus.Collector]. The descriptions are checked when they are collected.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	now := c.now()
	st := c.job.Status()
	gauge(descInfo, 1, c.name, st.Attempt, st.Lineage)
	for _, p := range phases {
		v := 0.0
		if p == st.Phase {
			v = 1
		}
		gauge(descPhase, v, string(p))
	}
	counter(descRestarts, st.Restarts)
	if st.Checkpoint > 0 {
		gauge(descCheckpoint, float64(st.Checkpoint))
		gauge(descAge, max(0, since(now, st.CommittedAt)))
	}
	gauge(descTxnTimeout, c.job.Config().Checkpoint.TransactionTimeout.Seconds())

	c.steps(now, gauge, counter)
	c.positions(now, gauge)
}

func (c *collector) positions(now time.Time, gauge func(*prometheus.Desc, float64, ...string)) {
	age := 0.0
	if at := c.job.OldestTransaction(); at > 0 {
		age = max(0, since(now, at))
	}
	gauge(descTxnAge, age)
	c.job.EachSplit(func(s runtime.SplitStatus) {
		number := strconv.Itoa(int(s.Partition))
		gauge(descOffset, float64(s.Offset), s.Source, s.Topic, number)
		if s.End >= 0 {
			gauge(descLag, float64(max(0, s.End-s.Offset)), s.Source, s.Topic, number)
		}
		if s.EventTime != stream.MinTime {
			gauge(descSplitTime, float64(s.EventTime)/1000, s.Source, s.Topic, number)
		}
	})
	c.job.EachOutput(func(topic string, partition int32, records int64) {
		gauge(descOutputLag, float64(records), topic, strconv.Itoa(int(partition)))
	})
	c.job.EachDiscovery(func(source string, at int64) {
		if at > 0 {
			gauge(descDiscovery, float64(at)/1000, source)
		}
	})
}

// steps shows of each step what its kind has: a source reads, a sink writes, keyed operators have state.
func (c *collector) steps(now time.Time, gauge func(*prometheus.Desc, float64, ...string), counter func(*prometheus.Desc, int64, ...string)) {
	watermarks := map[string]int64{}
	c.job.Metrics().Each(func(step string, subtask int, s *runtime.StepMetrics) {
		labels := []string{step, strconv.Itoa(subtask)}
		kind, keyed := "", false
		if n := c.kinds[step]; n != nil {
			kind, keyed = n.Kind, n.Keyed
		}
		switch kind {
		case "source":
			counter(descRecordsIn, s.RecordsIn.Load(), labels...)
			counter(descBytesIn, s.BytesIn.Load(), labels...)
			counter(descBad, s.BadRecords.Load(), labels...)
		case "sink":
			counter(descRecordsOut, s.RecordsOut.Load(), labels...)
			counter(descBytesOut, s.BytesOut.Load(), labels...)
			counter(descBad, s.BadRecords.Load(), labels...)
		}
		if keyed {
			counter(descLate, s.Late.Load(), labels...)
			gauge(descEntries, float64(s.StateEntries.Load()), labels...)
			gauge(descStateBytes, float64(s.StateBytes.Load()), labels...)
		}
		if wm, known := watermarks[step]; !known || s.Watermark.Load() < wm {
			watermarks[step] = s.Watermark.Load()
		}
	})
	for step, wm := range watermarks {
		// Neither "nothing is known yet" nor "the input has ended" is a time. Zero is a subtask that has not begun.
		if wm == stream.MinTime || wm == stream.MaxTime || wm == 0 {
			continue
		}
		gauge(descWatermark, float64(wm)/1000, step)
		gauge(descWatermarkLag, since(now, wm), step)
	}
}

// since is the time from a point in milliseconds since the Unix epoch until now, in seconds.
func since(now time.Time, ms int64) float64 { return float64(now.UnixMilli()-ms) / 1000 }

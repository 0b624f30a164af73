package job_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/jobtest"
	"github.com/weirstream/weir/stream"
)

// TestRandomJobsAreExactWhateverHappens is metamorphic: a random job over a random input, crashed, disconnected, stopped and
// started again at random moments, each time with other options. What a read_committed reader sees must be what a plain
// loop computes. It runs for 5 s, or for WEIR_METAMORPHIC (a duration), or WEIR_METAMORPHIC_RUNS times;
// WEIR_METAMORPHIC_SEED repeats one run.
func TestRandomJobsAreExactWhateverHappens(t *testing.T) {
	if text := os.Getenv("WEIR_METAMORPHIC_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		metamorphic(t, seed)
		return
	}
	budget, runs := 5*time.Second, int64(1)<<40
	if text := os.Getenv("WEIR_METAMORPHIC"); text != "" {
		var err error
		if budget, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("WEIR_METAMORPHIC_RUNS"); text != "" {
		var err error
		if runs, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
		budget = 24 * time.Hour
	}
	began, first := time.Now(), uint64(rand.Uint32())<<20
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 4 * goruntime.GOMAXPROCS(0) { // a run waits most of its time
		workers.Go(func() {
			for !t.Failed() && time.Since(began) < budget {
				n := next.Add(1)
				if n > runs {
					return
				}
				seed := first + uint64(n)
				t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { metamorphic(t, seed) })
			}
		})
	}
	workers.Wait()
	done := min(next.Load(), runs)
	t.Logf("%d runs, %.1f a second", done, float64(done)/time.Since(began).Seconds())
}

// metamorphic makes one run.
func metamorphic(t *testing.T, seed uint64) {
	m := &metamorphosis{Cluster: jobtest.New(t), t: t, seed: seed, dir: t.TempDir()}
	plan := rand.New(rand.NewPCG(seed, 1))
	m.job = newRandomJob(plan)
	m.feeder = newFeeder(m.job, rand.New(rand.NewPCG(seed, 2)))
	m.note("%s", m.job)
	defer func() {
		if t.Failed() {
			for _, line := range m.history {
				t.Log(line)
			}
			t.Logf("repeat it: WEIR_METAMORPHIC_SEED=%d go test -count=1 -run '^TestRandomJobsAreExactWhateverHappens$' ./job", seed)
		}
	}()
	for i, n := range m.job.partitions {
		m.Topic(topicOf(i), n)
	}
	m.Topic("out", m.job.outputs)
	m.Topic("tap", m.job.outputs)
	grow := rand.New(rand.NewPCG(seed, 1<<32))
	for range plan.IntN(5) {
		if grow.IntN(4) == 0 {
			m.addPartition(grow.IntN(len(m.job.partitions)))
		}
		m.feed(plan.IntN(200), plan.IntN(2) == 0)
	}
	// One more record of each key shows its state; one more of each partition lets event time go on.
	m.probe()
	m.check()
}

type metamorphosis struct {
	*jobtest.Cluster
	*feeder
	t    *testing.T
	seed uint64
	// rnd is of the run under way: when things happen must not change what others draw.
	rnd     *rand.Rand
	job     *randomJob
	dir     string
	history []string
	// savepoint is what the next run starts from, if set; run counts the runs.
	savepoint string
	run       int
	// hurt says that connections of the last run may break.
	hurt bool
}

func (m *metamorphosis) note(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
}

// feed produces n records and runs the job; before it starts, or meanwhile.
func (m *metamorphosis) feed(n int, before bool) {
	m.t.Helper()
	m.note("%d records, before the start: %t", n, before)
	if before {
		m.produce(n)
	}
	r := m.start(true)
	if !before {
		m.produce(n)
	}
	m.end(r)
}

// addPartition adds one to the topic of a source. The next start finds it and reads it from its beginning (C20).
func (m *metamorphosis) addPartition(source int) {
	m.t.Helper()
	m.grow(source)
	m.note("topic %s has %d partitions now", topicOf(source), m.job.partitions[source])
	m.AddPartitions(topicOf(source), m.job.partitions[source])
}

func (m *metamorphosis) produce(n int) {
	var keys []string
	for range n {
		keys = append(keys, m.key())
	}
	m.send(keys)
}

func (m *metamorphosis) send(keys []string) {
	m.t.Helper()
	type place struct{ source, partition int }
	batches := map[place][]stream.Record{}
	for _, k := range keys {
		s, p, r := m.record(k)
		batches[place{s, p}] = append(batches[place{s, p}], r)
	}
	for at, records := range batches {
		m.ProduceTo(topicOf(at.source), at.partition, records...)
	}
}

// start runs the job with options drawn anew, and lets something happen to it if it is to be hurt.
func (m *metamorphosis) start(hurt bool) *jobtest.Run {
	m.t.Helper()
	m.run++
	rnd := rand.New(rand.NewPCG(m.seed, 2+uint64(m.run)))
	m.rnd = rnd
	var o job.Options
	o.Parallelism = 1 + rnd.IntN(3)
	k := &o.Checkpoint
	k.Interval = time.Duration(1+rnd.IntN(15)) * time.Millisecond
	k.MaxConcurrent = 1 + rnd.IntN(3)
	k.Retained = 1 + rnd.IntN(3)
	k.InlineThreshold = checkpoint.Bytes([]int{1, 500, 20 << 10}[rnd.IntN(3)])
	k.BaseAfter = checkpoint.Bytes([]int{1, 2000, 1 << 20}[rnd.IntN(3)])
	k.Memory = 16 << 20
	k.Restart.InitialBackoff = time.Millisecond
	k.KeyGroups = 16
	k.Storage = filepath.Join(m.dir, "state")
	k.LocalDir = filepath.Join(m.dir, fmt.Sprint("local-", rnd.IntN(2)))
	o.Producer.MaxBatchBytes = []int{1 << 10, 1 << 20}[rnd.IntN(2)]
	o.Producer.Compression = []string{"none", "snappy", "lz4", "zstd"}[rnd.IntN(4)]
	o.Start.From, m.savepoint = m.savepoint, ""
	m.hurt = false
	opts := []jobtest.Option{jobtest.Configure(func(to *job.Options) { *to = o })}
	if hurt {
		for range rnd.IntN(3) {
			step, n := jobtest.Steps()[rnd.IntN(len(jobtest.Steps()))], 1+rnd.IntN(4)
			if !m.hurt && rnd.IntN(3) == 0 {
				m.hurt = true
				m.note("run %d: disconnected at %s %d", m.run, step, n)
				opts = append(opts, jobtest.DisconnectAt(step, n))
			} else {
				m.note("run %d: crashed at %s %d", m.run, step, n)
				opts = append(opts, jobtest.CrashAt(step, n))
			}
		}
	}
	m.note("run %d: parallelism %d, every %s, %d at once, %d retained, inline %s, base after %s, from %q", m.run, o.Parallelism, k.Interval,
		k.MaxConcurrent, k.Retained, k.InlineThreshold, k.BaseAfter, o.Start.From)
	return m.Run(m.job.graph(rnd), opts...)
}

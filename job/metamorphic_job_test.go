package job_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// randomJob is a job, and what it reads: one or two sources, united; stages; a sink; perhaps a second one in between.
type randomJob struct {
	partitions []int // of each source's topic
	outputs    int   // partitions of the sinks' topics
	stages     []stage
	// tap is after how many stages another sink writes; -1 for none.
	tap int
	// split lets the last step be a union of two branches of one stream; coarse lets keys meet whose order is not defined.
	split, coarse bool
	// late is by how much event time may go back within a partition.
	late int64
}

func newRandomJob(rnd *rand.Rand) *randomJob {
	j := &randomJob{outputs: 1 + rnd.IntN(3), tap: -1, late: 10 * rnd.Int64N(10)}
	for range 1 + rnd.IntN(2) {
		j.partitions = append(j.partitions, 1+rnd.IntN(5))
	}
	for range rnd.IntN(5) {
		if rnd.IntN(2) == 0 {
			j.stages = append(j.stages, stateless(rnd))
		} else {
			j.stages = append(j.stages, stateful(rnd))
		}
	}
	if rnd.IntN(3) == 0 && len(j.stages) > 0 {
		j.tap = rnd.IntN(len(j.stages))
	}
	switch rnd.IntN(6) {
	case 0, 1:
		j.stages = append(j.stages, timedStage(rnd))
	case 2:
		j.split = true
	case 3:
		j.coarse = true
		group := func(d datum) datum { return datum{fmt.Sprint("group ", d.N%3), d.N, d.At} }
		j.stages = append(j.stages, apply("group", func(d datum) []datum { return []datum{group(d)} }, mapping(group)),
			keyedStage("sum", operators.Reduce(func(a, b datum) datum { return datum{b.Key, a.N + b.N, b.At} }), same,
				perKey(func(sum int64, d datum) (int64, []datum) { return sum + d.N, []datum{{d.Key, sum + d.N, d.At}} })))
	}
	return j
}

func (j *randomJob) String() string {
	var steps []string
	for i, s := range j.stages {
		if i == j.tap {
			steps = append(steps, "tap")
		}
		steps = append(steps, s.text)
	}
	if j.split {
		steps = append(steps, "split")
	}
	return fmt.Sprintf("sources of %v partitions | %s | sinks of %d", j.partitions, strings.Join(steps, " | "), j.outputs)
}

func topicOf(source int) string { return fmt.Sprint("in-", source) }

// graph makes the job, with a parallelism of each step's own.
func (j *randomJob) graph(rnd *rand.Rand) *job.Graph {
	some := func() []job.Option {
		if rnd.IntN(2) == 0 {
			return nil
		}
		return []job.Option{job.Parallelism(1 + rnd.IntN(3))}
	}
	g := job.New("random")
	drift := time.Duration(rnd.IntN(3)*rnd.IntN(1000)) * time.Millisecond // often none
	var streams []*job.Stream[datum]
	for i := range j.partitions {
		spec := source.Kafka(source.KafkaOptions{
			Topics: []string{topicOf(i)}, IdleTimeout: -1, MaxBatchRecords: 1 + rnd.IntN(60), FetchMaxWait: 20 * time.Millisecond,
		})
		in := job.From(g, topicOf(i), spec, decodeDatum)
		at := operators.EventTimeMillis(func(d datum) int64 { return d.At }, time.Duration(j.late)*time.Millisecond, operators.MaxDrift(drift))
		streams = append(streams, job.Via(in, fmt.Sprint("time-", i), at))
	}
	s := streams[0]
	if len(streams) > 1 {
		s = job.Union("both", s, streams[1:]...)
	}
	to := func(s *job.Stream[datum], name string) {
		job.To(s, name, sink.Kafka(sink.KafkaOptions{Topic: name}), encodeDatum, some()...)
	}
	for i, st := range j.stages {
		if i == j.tap {
			to(s, "tap")
		}
		s = st.add(s, fmt.Sprint("step-", i), some)
	}
	if j.split {
		even := job.Via(s, "even", operators.Filter(func(d datum) bool { return d.N%2 == 0 }), some()...)
		s = job.Union("again", s, even)
	}
	to(s, "out")
	return g
}

// results are what the sinks' topics hold: by topic and key, in order as far as there is one.
func (j *randomJob) results(input []datum) map[string]map[string][]string {
	out := map[string]map[string][]string{"out": {}}
	add := func(topic string, data []datum) {
		values := map[string][]string{}
		for _, d := range data {
			values[d.Key] = append(values[d.Key], strconv.FormatInt(d.N, 10))
		}
		out[topic] = values
	}
	if j.tap >= 0 {
		add("tap", run(j.stages[:j.tap], input))
	}
	last := run(j.stages, input)
	if j.split {
		for _, d := range slices.Clone(last) {
			if d.N%2 == 0 {
				last = append(last, d)
			}
		}
	}
	add("out", last)
	return out
}

// ordered leaves of the results what is defined.
func (j *randomJob) ordered(topic string, values map[string][]string) map[string][]string {
	for k, v := range values {
		switch {
		case k == "", j.split && topic == "out": // a null has no order; neither have two branches
			slices.Sort(v)
		case j.coarse && topic == "out": // sums only grow
			greatest := slices.MaxFunc(v, func(a, b string) int { return len(a)*1000 - len(b)*1000 + strings.Compare(a, b) })
			values[k] = []string{fmt.Sprint(len(v), " results up to ", greatest)}
		}
	}
	return values
}

// decodeDatum reads what randomInput makes: a null counts as 0.
func decodeDatum(r *stream.Record) (datum, error) {
	d := datum{Key: string(r.Key), At: r.Timestamp}
	if r.Value == nil {
		return d, nil
	}
	var err error
	d.N, err = strconv.ParseInt(string(r.Value), 10, 64)
	return d, err
}

// encodeDatum writes the key that the datum has: in an unkeyed job that of the record.
func encodeDatum(d datum, r *stream.Record) error {
	if r.Key != nil || d.Key != "" {
		r.Key = append([]byte(nil), d.Key...)
	}
	r.Value = strconv.AppendInt(r.Value, d.N, 10)
	return nil
}

// feeder makes a random input.
type feeder struct {
	rnd  *rand.Rand
	job  *randomJob
	keys int
	skew bool
	// now is how far event time is in each partition of each source.
	now [][]int64
	// homes are where the records of a key go: when partitions are added, a key stays where it was.
	homes map[string][2]int
	// all is the input so far, as the plain loop reads it.
	all []datum
}

func newFeeder(j *randomJob, rnd *rand.Rand) *feeder {
	f := &feeder{rnd: rnd, job: j, keys: 1 + rnd.IntN(20), skew: rnd.IntN(2) == 0, homes: map[string][2]int{}}
	for _, n := range j.partitions {
		f.now = append(f.now, slices.Repeat([]int64{1_700_000_000_000}, n))
	}
	return f
}

// place is where the records of a key go: an order per key needs one partition for each. Nulls go to one, too.
func (f *feeder) place(key string) (source, partition int) {
	if at, ok := f.homes[key]; ok {
		return at[0], at[1]
	}
	h := fnv.New32a()
	h.Write([]byte(key))
	source = int(h.Sum32()>>16) % len(f.job.partitions)
	partition = int(h.Sum32()&0xffff) % f.job.partitions[source]
	f.homes[key] = [2]int{source, partition}
	return source, partition
}

// grow adds a partition. Its event time begins with the latest of all, so that none of its records is late.
func (f *feeder) grow(source int) {
	f.job.partitions[source]++
	var latest int64
	for _, partitions := range f.now {
		latest = max(latest, slices.Max(partitions))
	}
	f.now[source] = append(f.now[source], latest)
}

// record makes the next record of a key; an empty one is a null.
func (f *feeder) record(key string) (source, partition int, r stream.Record) {
	source, partition = f.place(key)
	now := &f.now[source][partition]
	*now += 10 * f.rnd.Int64N(8)
	d := datum{Key: key, N: f.rnd.Int64N(1000), At: *now - 10*f.rnd.Int64N(f.job.late/10+1)}
	if f.rnd.IntN(20) == 0 {
		d.N = 0
	} else {
		r.Value = strconv.AppendInt(nil, d.N, 10)
	}
	if key != "" {
		r.Key = []byte(key)
	}
	r.Timestamp = d.At
	f.all = append(f.all, d)
	return source, partition, r
}

// key draws a key.
func (f *feeder) key() string {
	n := f.rnd.IntN(f.keys + 1)
	if f.skew {
		n = f.rnd.IntN(n + 1)
	}
	if n == f.keys {
		return ""
	}
	return fmt.Sprint("k", n)
}

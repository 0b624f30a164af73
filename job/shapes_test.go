package job_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

func in(topics ...string) source.Spec {
	return source.Kafka(source.KafkaOptions{Topics: topics, StopAt: "latest"})
}

func out(topic string) sink.Spec { return sink.Kafka(sink.KafkaOptions{Topic: topic}) }

func decodeKeyed(r *stream.Record) (keyed, error) {
	n, err := strconv.ParseInt(string(r.Value), 10, 64)
	return keyed{string(r.Key), n}, err
}

// finish runs a job whose input ends.
func finish(t *testing.T, g *job.Graph, o job.Options) {
	t.Helper()
	if err := start(t, g, o).wait(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWindowFiresAtTheEndOfTheInput(t *testing.T) {
	for _, p := range []int{1, 2, 3} {
		t.Run(fmt.Sprint("parallelism=", p), func(t *testing.T) {
			c := newCluster(t, "in", "out")
			c.feed("in", 0, 1000, 10) // record i is at millisecond i; its key is k(i mod 10)
			g := job.New("windows")
			events := job.From(g, "in", in("in"), decodeKeyed)
			timed := job.Via(events, "time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 100*time.Millisecond))
			byKey := job.KeyBy(timed, "by-key", func(k keyed) string { return k.Key })
			counts := job.Via(byKey, "count", operators.WindowCount[keyed](operators.Tumbling(300*time.Millisecond), operators.WindowOptions[keyed]{}), job.Parallelism(p))
			job.To(counts, "out", out("out"), func(c operators.KeyWindowCount, r *stream.Record) error {
				r.Value = fmt.Appendf(r.Value, "%d-%d:%d", c.Start, c.End, c.Count)
				return nil
			})
			o := c.options(10 * time.Millisecond)
			o.Parallelism = p
			finish(t, g, o)
			want := map[string][]string{}
			for k := range 10 {
				want[fmt.Sprint("k", k)] = []string{"0-300:30", "300-600:30", "600-900:30", "900-1200:10"}
			}
			if err := diff(c.read("out"), want); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestLateRecordsGoToTheSideOutput(t *testing.T) {
	c := newCluster(t, "in", "out", "late")
	for _, n := range []int{100, 1000, 50, 1100} {
		c.produce("in", 0, "k", strconv.Itoa(n))
	}
	tag := operators.Tag[keyed]{Name: "late"}
	g := job.New("late")
	events := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}, StopAt: "latest", MaxBatchRecords: 1}), decodeKeyed)
	timed := job.Via(events, "time", operators.EventTime(func(k keyed) time.Time { return time.UnixMilli(k.N) }, 0))
	byKey := job.KeyBy(timed, "by-key", func(k keyed) string { return k.Key })
	counts := job.Via(byKey, "count", operators.WindowCount[keyed](operators.Tumbling(time.Second), operators.WindowOptions[keyed]{Late: tag}), job.Parallelism(2))
	job.To(counts, "out", out("out"), func(c operators.KeyWindowCount, r *stream.Record) error {
		r.Value = fmt.Appendf(r.Value, "%d:%d", c.Start, c.Count)
		return nil
	})
	job.To(job.Side(counts, tag), "late", out("late"), func(k keyed, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, k.N, 10)
		return nil
	})
	finish(t, g, c.options(10*time.Millisecond))
	if err := diff(c.read("out"), map[string][]string{"k": {"0:1", "1000:2"}}); err != nil {
		t.Error(err)
	}
	if err := diff(c.read("late"), map[string][]string{"k": {"50"}}); err != nil {
		t.Error(err)
	}
}

func TestUnionKeepsTheOrderOfEachStream(t *testing.T) {
	c := newCluster(t, "a", "b", "out")
	for i := range 100 {
		c.produce("a", 1, "a", strconv.Itoa(i))
		c.produce("b", 2, "b", strconv.Itoa(i))
	}
	g := job.New("union")
	a := job.From(g, "a", in("a"), decodeKeyed)
	b := job.From(g, "b", in("b"), decodeKeyed)
	job.To(job.Union("both", a, b), "out", out("out"), func(k keyed, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, k.N, 10)
		return nil
	}, job.Parallelism(3))
	o := c.options(5 * time.Millisecond)
	o.Parallelism = 2
	finish(t, g, o)
	want := map[string][]string{}
	for i := range 100 {
		want["a"] = append(want["a"], strconv.Itoa(i))
		want["b"] = append(want["b"], strconv.Itoa(i))
	}
	if err := diff(c.read("out"), want); err != nil {
		t.Fatal(err)
	}
}

func TestBranchesOfAStreamAllSeeEverything(t *testing.T) {
	c := newCluster(t, "in", "even", "all")
	c.feed("in", 0, 500, 5)
	g := job.New("branches")
	events := job.From(g, "in", in("in"), decodeKeyed)
	write := func(k keyed, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, k.N, 10)
		return nil
	}
	job.To(events, "all", out("all"), write)
	job.To(job.Via(events, "evens", operators.Filter(func(k keyed) bool { return k.N%2 == 0 })), "even", out("even"), write, job.Parallelism(2))
	finish(t, g, c.options(5*time.Millisecond))
	all, even := map[string][]string{}, map[string][]string{}
	for i := range 500 {
		k := fmt.Sprint("k", i%5)
		all[k] = append(all[k], strconv.Itoa(i))
		if i%2 == 0 {
			even[k] = append(even[k], strconv.Itoa(i))
		}
	}
	if err := diff(c.read("all"), all); err != nil {
		t.Error(err)
	}
	if err := diff(c.read("even"), even); err != nil {
		t.Error(err)
	}
}

func TestAJobThatHasEndedIsNotRunAgain(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed("in", 0, 50, 5)
	bounded := func() *job.Graph {
		g := job.New("once")
		events := job.From(g, "in", in("in"), decodeKeyed)
		job.To(events, "out", out("out"), func(k keyed, r *stream.Record) error {
			r.Value = strconv.AppendInt(r.Value, k.N, 10)
			return nil
		})
		return g
	}
	o := c.options(5 * time.Millisecond)
	finish(t, bounded(), o)
	once := c.read("out")
	finish(t, bounded(), o)
	if err := diff(c.read("out"), once); err != nil {
		t.Error(err)
	}
	o.Start = job.Start{Fresh: true}
	finish(t, bounded(), o)
	for k, v := range once {
		once[k] = append(v, v...)
	}
	if err := diff(c.read("out"), once); err != nil {
		t.Error(err)
	}
}

package verify_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// Bad records are skipped, or found in the dead-letter topic, as the policy says.
func TestDeadLettersAreVerified(t *testing.T) {
	c := newCluster(t, "in", "out", "dead")
	c.feed(0, 40, 4)
	bad := record("in", 1, "k1", 0)
	bad.Value, bad.Headers = []byte("x"), []kgo.RecordHeader{{Key: "h"}}
	c.produce(bad)
	c.feed(40, 80, 4)
	g := func() *job.Graph {
		g := job.New("letters")
		byKey := job.KeyBy(job.From(g, "in", bounded(), decode, job.OnBadRecord("dead_letter", "dead")), "by-key", func(n number) string { return n.Key })
		job.To(job.Via(byKey, "sum", operators.Reduce(func(a, b number) number { return number{b.Key, a.N + b.N} })), "out", to("out"), func(n number, r *stream.Record) error {
			if n.N == 6 {
				return errors.New("six")
			}
			return encode(n, r)
		}, job.OnBadRecord("dead_letter", "dead"))
		return g
	}
	o := c.options()
	c.run(g(), o)
	report := c.verified(g(), o, job.VerifyOptions{})
	if report.BadRecords != 2 || report.Outputs[0].Equal != 79 || report.Outputs[1].Equal != 2 {
		t.Errorf("got %+v, %+v, %+v", report, report.Outputs[0], report.Outputs[1])
	}
}

// Two inputs of one operator have no order between them.
func TestAConnectOfTwoSourcesIsComparedAndNotJudged(t *testing.T) {
	c := newCluster(t, "in", "other", "out")
	c.feed(0, 40, 4)
	c.produce(record("other", 0, "k0", 1), record("other", 0, "k9", 2))
	g := func(out string) *job.Graph {
		g := job.New("both")
		key := func(n number) string { return n.Key }
		a := job.KeyBy(job.From(g, "in", bounded(), decode), "by-key", key)
		other := source.Kafka(source.KafkaOptions{Topics: []string{"other"}, StopAt: "latest"})
		b := job.KeyBy(job.From(g, "other", other, decode), "other-by-key", key)
		both := job.Connect(a, b, "join", operators.Connect(func() operators.Processor2[number, number, number] { return merge{} }))
		job.To(both, "out", to(out), encode)
		return g
	}
	o := c.options()
	c.run(g("out"), o)
	report, err := c.verify(g("out"), o, job.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *job.VerifyRefused
	if e := report.Err(); e != nil && !errors.As(e, &refused) {
		t.Errorf("got %v", e)
	}
	c.rewrite("out", "changed", changed("13", "14")) // of k1, which only one input has
	report, err = c.verify(g("changed"), o, job.VerifyOptions{})
	if err != nil || report.Count("different") != 1 {
		t.Errorf("got %v, %v", err, findings(report))
	}
}

// The pairs of an interval join are the same in whatever order the inputs were read: a difference is a finding.
func TestAnIntervalJoinIsJudged(t *testing.T) {
	c := newCluster(t, "in", "other", "out")
	c.feed(0, 40, 4)
	for i := range 40 {
		r := record("in", int32(i%4), fmt.Sprint("k", i%4), i)
		r.Topic = "other"
		c.produce(r)
	}
	g := func(out string) *job.Graph {
		g := job.New("pairs")
		times := operators.EventTimeMillis(func(n number) int64 { return n.N }, 0)
		by := func(name string) *job.Stream[number] {
			from := source.Kafka(source.KafkaOptions{Topics: []string{name}, StopAt: "latest"})
			return job.KeyBy(job.Via(job.From(g, name, from, decode), name+"-time", times), name+"-by-key", func(n number) string { return n.Key })
		}
		pairs := job.Connect(by("in"), by("other"), "pairs", operators.IntervalJoin(operators.Between(0, 4*time.Millisecond),
			func(p operators.Pair[number, number]) (number, error) { return number{p.Key, 100*p.A.N + p.B.N}, nil },
			operators.JoinOptions[number, number]{}))
		job.To(pairs, "out", to(out), encode)
		return g
	}
	o := c.options()
	c.run(g("out"), o)
	report := c.verified(g("out"), o, job.VerifyOptions{})
	if want := int64(40 + 36); report.Outputs[0].Equal != want { // each with that of its time, and with the next of its key
		t.Errorf("got %+v, want %d pairs", report.Outputs[0], want)
	}
	c.rewrite("out", "changed", changed("509", "508"))
	report, err := c.verify(g("changed"), o, job.VerifyOptions{})
	if err != nil || report.Count("different") != 1 {
		t.Errorf("got %v, %v", err, findings(report))
	}
}

type merge struct{ operators.NoTimers[number] }

func (merge) Open(*operators.Context) error { return nil }

func (merge) ProcessA(_ *operators.ProcessContext, ev *stream.Event[number], emit func(number) error) error {
	return emit(ev.Value)
}

func (merge) ProcessB(_ *operators.ProcessContext, ev *stream.Event[number], emit func(number) error) error {
	return emit(ev.Value)
}

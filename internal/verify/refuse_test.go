package verify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

func (c *cluster) refused(g *job.Graph, o job.Options, v job.VerifyOptions, want string) {
	c.t.Helper()
	r, err := c.verify(g, o, v)
	var refused *job.VerifyRefused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
		c.t.Fatalf("want a refusal with %q, got %v, %+v", want, err, r)
	}
}

// A running result of a key that comes from two partitions depends on how they interleave; the last one does not.
func TestAKeyInTwoPartitionsIsRefusedAndItsLastValueIsCompared(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed(0, 40, 4)
	c.produce(record("in", 2, "k0", 1000), record("in", 2, "k2", 1001))
	o := c.options()
	c.run(sums(bounded(), "out"), o)
	c.refused(sums(in(), "out"), o, job.VerifyOptions{}, `operator sum: its results depend on how partitions interleave: key "k0" is in partitions 0 and 2 of topic in; --last`)
	c.verified(sums(in(), "out"), o, job.VerifyOptions{Last: true})

	c.rewrite("out", "wrong", func(r *kgo.Record) []*kgo.Record {
		if string(r.Key) == "k1" && string(r.Value) == "190" { // 1 + 5 + ... + 37
			r.Value = []byte("0")
		}
		return []*kgo.Record{r}
	})
	report, err := c.verify(sums(in(), "wrong"), o, job.VerifyOptions{Last: true})
	if err != nil || len(report.Examples) != 1 || !strings.Contains(report.Examples[0].String(), `key "k1": want "190", got "0"`) {
		t.Errorf("got %v, %+v", err, report)
	}
}

// process is a job with one operator of the user's.
func process(name string, p func() operators.Processor[number, number]) *job.Graph {
	g := job.New(name)
	byKey := job.KeyBy(job.From(g, "in", bounded(), decode), "by-key", func(n number) string { return n.Key })
	job.To(job.Via(byKey, "own", operators.Process(p)), "out", to("out"), encode)
	return g
}

type own struct {
	open  func(*operators.Context) error
	event func(c *operators.ProcessContext, ev *stream.Event[number], emit func(number) error) error
	timer func(c *operators.ProcessContext, t operators.Timer, emit func(number) error) error
}

func (o *own) Open(ctx *operators.Context) error {
	if o.open == nil {
		return nil
	}
	return o.open(ctx)
}

func (o *own) Process(c *operators.ProcessContext, ev *stream.Event[number], emit func(number) error) error {
	return o.event(c, ev, emit)
}

func (o *own) OnTimer(c *operators.ProcessContext, t operators.Timer, emit func(number) error) error {
	return o.timer(c, t, emit)
}

func TestAnOperatorThatAsksForTheClockIsRefusedByName(t *testing.T) {
	for _, what := range []string{"now", "timer"} {
		t.Run(what, func(t *testing.T) {
			c := newCluster(t, "in", "out")
			c.feed(0, 8, 4)
			g := func() *job.Graph {
				return process("clock", func() operators.Processor[number, number] {
					return &own{event: func(pc *operators.ProcessContext, ev *stream.Event[number], emit func(number) error) error {
						if what == "now" {
							return emit(number{ev.Value.Key, pc.Now() * 0})
						}
						return errors.Join(pc.SetClockTimer(1<<60), emit(ev.Value))
					}}
				})
			}
			o := c.options()
			c.run(g(), o)
			c.refused(g(), o, job.VerifyOptions{}, "operator own: ")
			c.verified(g(), o, job.VerifyOptions{Trust: []string{"own"}})
			c.refused(g(), o, job.VerifyOptions{Trust: []string{"on"}}, `no operator "on"`)
		})
	}
}

// What an operator knows when an event-time timer fires depends on how far the input had been read: equal results are
// equal, others are not judged.
func TestResultsOfEventTimeTimersAreNotJudgedWhereTheyDiffer(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed(0, 40, 4)
	g := func(out string) *job.Graph {
		g := job.New("timers")
		events := job.Via(job.From(g, "in", bounded(), decode), "time", operators.EventTimeMillis(func(n number) int64 { return n.N }, 0))
		byKey := job.KeyBy(events, "by-key", func(n number) string { return n.Key })
		job.To(job.Via(byKey, "own", operators.Process(func() operators.Processor[number, number] {
			return &own{
				event: func(pc *operators.ProcessContext, ev *stream.Event[number], _ func(number) error) error {
					return pc.SetTimer(ev.Timestamp + 1000)
				},
				timer: func(_ *operators.ProcessContext, t operators.Timer, emit func(number) error) error {
					return emit(number{N: t.Time})
				},
			}
		})), "out", to(out), encode)
		return g
	}
	o := c.options()
	c.run(g("out"), o)
	c.verified(g("out"), o, job.VerifyOptions{})
	c.rewrite("out", "changed", changed("1015", "7"))
	report, err := c.verify(g("changed"), o, job.VerifyOptions{})
	var refused *job.VerifyRefused
	if err != nil || !errors.As(report.Err(), &refused) || refused.Operator != "own" || report.Outputs[0].Undecided != 1 {
		t.Errorf("got %v, %v", err, report.Err())
	}
	report, err = c.verify(g("changed"), o, job.VerifyOptions{Trust: []string{"own"}})
	if err != nil || len(report.Examples) != 1 || report.Examples[0].Kind != "different" {
		t.Errorf("got %v, %v", err, findings(report))
	}
}

// changed changes one value.
func changed(from, to string) func(r *kgo.Record) []*kgo.Record {
	return func(r *kgo.Record) []*kgo.Record {
		if string(r.Value) == from {
			r.Value = []byte(to)
		}
		return []*kgo.Record{r}
	}
}

func TestAtLeastOnceIsRefused(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options()
	o.Checkpoint.Mode = "at_least_once"
	c.refused(sums(in(), "out"), o, job.VerifyOptions{}, "mode at_least_once")
}

func TestAJobWithoutACheckpointIsRefused(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.refused(sums(in(), "out"), c.options(), job.VerifyOptions{}, "there is no topic weir.sums.checkpoints")
}

// Where records have been deleted it cannot be told whether the job had read them.
func TestAnInputWhoseBeginningIsGoneIsRefused(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed(0, 40, 4)
	c.deleteBefore("in", 0, 3)
	o := c.options()
	c.run(sums(bounded(), "out"), o)
	c.deleteBefore("weir.sums.checkpoints", 0, c.last("weir.sums.checkpoints"))
	c.refused(sums(in(), "out"), o, job.VerifyOptions{}, "topic in partition 0 begins at offset 3: if the job began there say --log-start")
	c.verified(sums(in(), "out"), o, job.VerifyOptions{LogStart: true})
	c.deleteBefore("in", 0, 5)
	report, err := c.verify(sums(in(), "out"), o, job.VerifyOptions{LogStart: true})
	if err != nil || report.Err() == nil {
		t.Errorf("records that the job had read are gone, and the report is %+v, %v", report, err)
	}
}

func TestASourceThatBeganAtTheEndNeedsItsFirstCheckpointOrASavepoint(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed(0, 40, 4)
	o := c.options()
	late := func() source.Spec {
		return source.Kafka(source.KafkaOptions{Topics: []string{"in"}, Start: "latest"})
	}
	r := c.start(sums(late(), "out"), o)
	eventually(t, "the first checkpoint", func() bool { return r.Status().Checkpoint > 0 })
	c.feed(40, 80, 4)
	r.await("out", 40)
	r.stop()
	c.verified(sums(late(), "out"), o, job.VerifyOptions{})
	c.deleteBefore("weir.sums.checkpoints", 0, c.last("weir.sums.checkpoints"))
	c.refused(sums(late(), "out"), o, job.VerifyOptions{}, "source in began at where the input ended when the job was first started (start: latest)")
}

package verify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
)

// Records without a key, and a key in several partitions, have no order: they are compared as a bag.
func TestACopyIsVerifiedWithoutKeysAndWithKeysInSeveralPartitions(t *testing.T) {
	c := newCluster(t, "in", "out")
	var records []*kgo.Record
	for n := range 200 {
		key := ""
		if n%3 > 0 {
			key = fmt.Sprint("k", n%5)
		}
		records = append(records, record("in", int32(n%4), key, n%50)) // values repeat
	}
	c.produce(records...)
	g := func(out string) *job.Graph {
		g := job.New("copy")
		job.To(job.From(g, "in", bounded(), job.Raw), "out", to(out), job.RawOut)
		return g
	}
	o := c.options()
	c.run(g("out"), o)
	if out := c.verified(g("out"), o, job.VerifyOptions{}).Outputs[0]; out.Equal != 200 {
		t.Errorf("got %+v", out)
	}
	n := 0
	c.rewrite("out", "less", func(r *kgo.Record) []*kgo.Record {
		if r.Key == nil {
			if n++; n == 5 {
				return nil
			}
			if n == 10 {
				return []*kgo.Record{r, r}
			}
		}
		return []*kgo.Record{r}
	})
	report, err := c.verify(g("less"), o, job.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count("lost") != 1 || report.Count("doubled") != 1 || report.Outputs[0].Equal != 199 {
		t.Errorf("got %v", findings(report))
	}
	for _, f := range report.Examples {
		if f.Key != nil || f.Kind == "lost" && f.Input == nil || f.Kind == "doubled" && f.Offset < 0 {
			t.Errorf("got %v", f)
		}
	}
}

// windows counts and adds up by key and window.
func windows(src source.Spec, bound time.Duration, assigner operators.Assigner, out string) *job.Graph {
	g := job.New("windows")
	events := job.Via(job.From(g, "in", src, decode), "time", operators.EventTimeMillis(func(n number) int64 { return n.N }, bound))
	byKey := job.KeyBy(events, "by-key", func(n number) string { return n.Key })
	late := operators.Tag[number]{Name: "late"}
	sum := job.Via(byKey, "window", operators.WindowReduce(assigner, func(a, b number) number { return number{b.Key, a.N*31 + b.N} }, operators.WindowOptions[number]{Late: late}))
	job.To(sum, "out", to(out), encode)
	job.To(job.Side(sum, late), "late", to("late"), encode)
	return g
}

func TestWindowsAreVerifiedWhileTheyAreOpen(t *testing.T) {
	for name, assigner := range map[string]operators.Assigner{
		"tumbling": operators.Tumbling(50 * time.Millisecond), "hopping": operators.Hopping(100*time.Millisecond, 20*time.Millisecond), "session": operators.Session(9 * time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "in", "out", "late")
			o := c.options()
			g := func() *job.Graph { return windows(in(), 20*time.Millisecond, assigner, "out") }
			for round := range 3 {
				c.feedOutOfOrder(round*1000, (round+1)*1000)
				r := c.start(g(), o)
				eventually(t, "time to come that far", func() bool { return r.read() >= int64((round+1)*1000) })
				report := c.verified(g(), o, job.VerifyOptions{})
				r.crash()
				if report.Outputs[0].Equal == 0 && round > 0 {
					t.Errorf("nothing was compared: %+v", report.Outputs[0])
				}
			}
			c.verified(g(), o, job.VerifyOptions{})
			c.run(windows(bounded(), 20*time.Millisecond, assigner, "out"), o)
			report := c.verified(g(), o, job.VerifyOptions{})
			if out := report.Outputs[0]; out.Expected != out.Seen || out.Seen < 100 || out.Pending != 0 {
				t.Errorf("got %+v", out)
			}
			c.rewrite("out", "cut", func(r *kgo.Record) []*kgo.Record {
				if r.Offset == 7 && string(r.Key) != "" {
					return nil
				}
				return []*kgo.Record{r}
			})
			report, err := c.verify(windows(in(), 20*time.Millisecond, assigner, "cut"), o, job.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if n := report.Count("lost"); n < 1 || n > 4 || len(report.Doubts) > 0 {
				t.Errorf("got %v, doubts %v", findings(report), report.Doubts)
			}
		})
	}
}

// feedOutOfOrder writes numbers of 20 keys, each up to 20 ms behind the greatest before it.
func (c *cluster) feedOutOfOrder(from, to int) {
	c.t.Helper()
	var records []*kgo.Record
	for n := from; n < to; n++ {
		ts := max(0, n-(n*7%21)) // 21 numbers apart at most
		key := n * 13 % 20
		records = append(records, record("in", int32(key%4), fmt.Sprint("k", key), ts))
	}
	c.produce(records...)
}

// read is how many records the job's sources have read.
func (r *running) read() (n int64) {
	r.EachSplit(func(s runtime.SplitStatus) { n += s.Offset })
	return n
}

// A record that is later than allowed for is in time or not by how far the input had been read: its key is not judged
// where it differs, all others are.
func TestLateRecordsMakeTheirKeyDoubtful(t *testing.T) {
	c := newCluster(t, "in", "out", "late")
	o := c.options()
	c.feedOutOfOrder(0, 2000)
	c.produce(record("in", 1, "k1", 40)) // nearly two seconds late
	g := func(out string) *job.Graph {
		return windows(bounded(), 20*time.Millisecond, operators.Tumbling(50*time.Millisecond), out)
	}
	c.run(g("out"), o)
	report, err := c.verify(g("out"), o, job.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count("lost")+report.Count("different")+report.Count("made up") > 0 {
		t.Errorf("got %v", findings(report))
	}
	cut := func(key string) func(r *kgo.Record) []*kgo.Record {
		done := false
		return func(r *kgo.Record) []*kgo.Record {
			if string(r.Key) == key && !done {
				done = true
				return nil
			}
			return []*kgo.Record{r}
		}
	}
	c.rewrite("out", "k1-lost", cut("k1"))
	report, err = c.verify(g("k1-lost"), o, job.VerifyOptions{})
	var refused *job.VerifyRefused
	if err != nil || !errors.As(report.Err(), &refused) || refused.Operator != "window" || !strings.Contains(refused.Reason, "came later than its event_time step allows for") {
		t.Errorf("got %v, %v", err, report.Err())
	}
	c.rewrite("out", "k2-lost", cut("k2"))
	report, err = c.verify(g("k2-lost"), o, job.VerifyOptions{})
	if err != nil || report.Count("lost") != 1 || string(report.Examples[0].Key) != "k2" {
		t.Errorf("got %v, %v", err, findings(report))
	}
}

// An aggregate of a window may not care for the order: equal is equal; what differs is not judged.
func TestWindowsOfKeysInTwoPartitionsAreComparedAndNotJudged(t *testing.T) {
	c := newCluster(t, "in", "out", "late")
	o := c.options()
	var records []*kgo.Record
	for n := range 200 {
		records = append(records, record("in", int32(n%2), "k", n))
	}
	c.produce(records...)
	g := func(out string) *job.Graph {
		g := job.New("maxima")
		events := job.Via(job.From(g, "in", bounded(), decode), "time", operators.EventTimeMillis(func(n number) int64 { return n.N }, 0))
		byKey := job.KeyBy(events, "by-key", func(n number) string { return n.Key })
		most := job.Via(byKey, "most", operators.WindowReduce(operators.Tumbling(50*time.Millisecond), func(a, b number) number { return number{b.Key, max(a.N, b.N)} }, operators.WindowOptions[number]{}))
		job.To(most, "out", to(out), encode)
		return g
	}
	c.run(g("out"), o)
	if out := c.verified(g("out"), o, job.VerifyOptions{}).Outputs[0]; out.Equal != 4 {
		t.Errorf("got %+v", out)
	}
	c.rewrite("out", "changed", changed("99", "98"))
	report, err := c.verify(g("changed"), o, job.VerifyOptions{})
	var refused *job.VerifyRefused
	if err != nil || !errors.As(report.Err(), &refused) || refused.Operator != "most" || !strings.Contains(refused.Reason, "partitions 0 and 1 of topic in") {
		t.Errorf("got %v, %v", err, report.Err())
	}
}

// A new lineage writes behind the output of the one before it, which is not judged.
func TestTheOutputBeforeALineageIsNotJudged(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed(0, 40, 4)
	o := c.options()
	c.run(sums(bounded(), "out"), o)
	o.Start = job.Start{Fresh: true}
	c.run(sums(bounded(), "out"), o)
	if out := c.verified(sums(in(), "out"), o, job.VerifyOptions{}).Outputs[0]; out.Equal != 40 || out.Before != 40 {
		t.Errorf("got %+v", out)
	}
	c.rewrite("out", "changed", changed("15", "16")) // in both lineages
	report, err := c.verify(sums(in(), "changed"), o, job.VerifyOptions{})
	if err != nil || report.Count("different") != 1 || len(report.Examples) != 1 {
		t.Errorf("got %v, %v", err, findings(report))
	}
}

// From a savepoint the loop goes on with its state and its windows.
func TestAVerificationBeginsFromASavepoint(t *testing.T) {
	c := newCluster(t, "in", "out", "late")
	o := c.options()
	g := func(out string) *job.Graph {
		g := windows(in(), 20*time.Millisecond, operators.Session(9*time.Millisecond), out)
		return g
	}
	c.feedOutOfOrder(0, 1000)
	r := c.start(g("out"), o)
	eventually(t, "the first half", func() bool { return r.read() >= 1000 })
	dir := t.TempDir() + "/savepoint"
	if err := r.Savepoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	c.feedOutOfOrder(1000, 2000)
	eventually(t, "the second half", func() bool { return r.read() >= 2000 })
	r.stop()
	for _, p := range []int32{0, 1, 2, 3} {
		c.deleteBefore("in", p, 10)
	}
	c.deleteBefore("weir.windows.checkpoints", 0, c.last("weir.windows.checkpoints"))
	c.refused(g("out"), o, job.VerifyOptions{}, "give --from a savepoint")
	report := c.verified(g("out"), o, job.VerifyOptions{From: dir})
	if out := report.Outputs[0]; report.Records != 1000 || out.Equal == 0 || out.Before == 0 {
		t.Errorf("got %+v, %+v", report, out)
	}
	n := len(c.read("out"))
	c.rewrite("out", "changed", func(r *kgo.Record) []*kgo.Record {
		if n--; string(r.Key) == "k3" && r.Timestamp.UnixMilli() > 1500 {
			r.Value = append(r.Value, '0')
		}
		return []*kgo.Record{r}
	})
	report, err := c.verify(g("changed"), o, job.VerifyOptions{From: dir})
	if err != nil || report.Count("different") == 0 {
		t.Errorf("got %v, %v", err, findings(report))
	}

	// A lineage that began from a savepoint is verified from there without being told.
	o.Start = job.Start{From: dir}
	r = c.start(g("out"), o)
	eventually(t, "the second half once more", func() bool { return r.read() >= 2000 })
	r.stop()
	if report := c.verified(g("out"), o, job.VerifyOptions{}); report.From == "" || report.Records != 1000 {
		t.Errorf("got %+v", report)
	}
}

// So is a copy beside it: a job of another name that began from the savepoint. Before that, the savepoint is another job's.
func TestACopyBesideTheJobIsVerifiedFromTheSavepointItBeganFrom(t *testing.T) {
	c := newCluster(t, "in", "out", "copied")
	named := func(name string) *job.Graph {
		g := job.New(name)
		byKey := job.KeyBy(job.From(g, "in", in(), decode), "by-key", func(n number) string { return n.Key })
		sum := job.Via(byKey, "sum", operators.Reduce(func(a, b number) number { return number{b.Key, a.N + b.N} }))
		job.To(sum, "out", to(map[string]string{"sums": "out", "copy": "copied"}[name]), encode)
		return g
	}
	o := c.options()
	c.feed(0, 40, 4)
	r := c.start(named("sums"), o)
	eventually(t, "the first half", func() bool { return r.read() >= 40 })
	dir := t.TempDir() + "/savepoint"
	if err := r.Savepoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	r.stop()
	c.feed(40, 80, 4)
	r = c.start(named("copy"), o)
	eventually(t, "all of it", func() bool { return r.read() >= 80 })
	r.stop()
	c.refused(named("copy"), o, job.VerifyOptions{From: dir}, `is of job "sums"`)

	o.Start = job.Start{From: dir}
	r = c.start(named("copy"), o)
	eventually(t, "the second half", func() bool { return r.read() >= 80 })
	r.stop()
	if report := c.verified(named("copy"), o, job.VerifyOptions{}); report.From == "" || report.Records != 40 || report.Outputs[0].Equal != 40 {
		t.Errorf("got %+v", report)
	}
}

// State that does not fit into memory goes to disk and comes back.
func TestStateMayBeLargerThanTheMemory(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed(0, 30000, 3000)
	o := c.options()
	c.run(sums(bounded(), "out"), o)
	if out := c.verified(sums(in(), "out"), o, job.VerifyOptions{Memory: 1 << 10}).Outputs[0]; out.Equal != 30000 {
		t.Errorf("got %+v", out)
	}
}

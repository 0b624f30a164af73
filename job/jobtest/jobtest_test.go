package jobtest_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/jobtest"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// counts is a job that counts the records of each key.
func counts() *job.Graph { return countsUntil("") }

func countsUntil(stopAt string) *job.Graph {
	g := job.New("counts")
	in := job.From(g, "views", source.Kafka(source.KafkaOptions{Topics: []string{"views"}, StopAt: stopAt}), job.Raw)
	byUser := job.KeyBy(in, "by-user", func(r stream.Record) string { return string(r.Key) })
	job.To(job.Via(byUser, "count", operators.Count[stream.Record]()), "counts", sink.Kafka(sink.KafkaOptions{Topic: "counts"}),
		func(n operators.KeyCount, out *stream.Record) error {
			out.Value = strconv.AppendInt(out.Value, n.Count, 10)
			return nil
		})
	return g
}

// views are n records with k keys, and wantCounts what the job makes of them.
func views(n, k int) (records []stream.Record) {
	for i := range n {
		records = append(records, jobtest.KV(fmt.Sprint("user", i%k), "/"))
	}
	return records
}

func wantCounts(n, k int) map[string][]string {
	want := map[string][]string{}
	for i := range n {
		key := fmt.Sprint("user", i%k)
		want[key] = append(want[key], strconv.Itoa(i/k+1))
	}
	return want
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want map[string][]string) {
	t.Helper()
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestCrashedJobIsContinued(t *testing.T) {
	c := jobtest.New(t)
	c.Topic("views", 3)
	c.Produce("views", views(60, 5)...)
	first := c.Run(counts(), jobtest.CrashAt("commit-sent", 2))
	if err := first.Wait(); !errors.Is(err, jobtest.ErrCrashed) {
		t.Fatal(err)
	}
	c.Produce("views", views(40, 5)...)
	second := c.Run(counts(), jobtest.DisconnectAt("flushed", 1))
	must(t, second.WaitCommitted())
	equal(t, c.Read("counts").ByKey(), wantCounts(100, 5))
	second.Kill()
	second.Kill()
	third := c.Run(counts(), jobtest.Configure(func(o *job.Options) { o.Parallelism = 3 }))
	c.Produce("views", views(5, 5)...)
	equal(t, c.WaitForRecords("counts", 105).ByKey(), wantCounts(105, 5))
	must(t, third.Stop())
	if third.Passed("begun") != 1 {
		t.Error("not one attempt")
	}
}

func TestSavepointIsStartedFrom(t *testing.T) {
	c := jobtest.New(t)
	c.Produce("views", views(10, 2)...)
	r := c.Run(counts())
	must(t, r.WaitCommitted())
	dir := filepath.Join(t.TempDir(), "savepoint")
	must(t, r.Savepoint(dir))
	c.Produce("views", views(2, 2)...)
	must(t, r.WaitCommitted())
	must(t, r.Stop())
	r = c.Run(counts(), jobtest.Configure(func(o *job.Options) { o.Start.From = dir }))
	must(t, r.WaitCommitted())
	must(t, r.Stop())
	want := wantCounts(12, 2)
	for k, v := range want {
		want[k] = append(v, "6")
	}
	equal(t, c.Read("counts").ByKey(), want)
}

func TestJobFromAFile(t *testing.T) {
	c := jobtest.New(t)
	g, options := c.Load("testdata/sums.yaml")
	c.Produce("numbers", jobtest.KV("a", `{"k":"a","n":1}`), jobtest.KV("b", `{"k":"b","n":5}`), jobtest.KV("a", `{"k":"a","n":2}`))
	r := c.Run(g, options)
	got := c.WaitForRecords("sums", 3).ByKey()
	must(t, r.Stop())
	equal(t, got, map[string][]string{"a": {`{"k":"a","sum":1}`, `{"k":"a","sum":3}`}, "b": {`{"k":"b","sum":5}`}})
}

func TestRecordsKeepWhatTheyHave(t *testing.T) {
	c := jobtest.New(t)
	c.Topic("in", 4)
	c.ProduceTo("in", 3, stream.Record{Timestamp: 1_700_000_000_000, Headers: []stream.Header{{Key: "h", Value: []byte("1")}}})
	r := c.Read("in")
	if len(r) != 1 || r[0].Key != nil || r[0].Value != nil || r[0].Partition != 3 || r[0].Timestamp != 1_700_000_000_000 || len(r[0].Headers) != 1 {
		t.Errorf("%+v", r)
	}
}

// A job may read what another one writes: the ends of its transactions are no records to wait for.
func TestOneJobReadsWhatAnotherWrites(t *testing.T) {
	c := jobtest.New(t)
	first := c.Run(counts())
	g := job.New("copy")
	in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"counts"}}), job.Raw)
	job.To(in, "out", sink.Kafka(sink.KafkaOptions{Topic: "copies"}), job.RawOut)
	second := c.Run(g)
	c.Produce("views", views(10, 2)...)
	must(t, first.WaitCommitted())
	must(t, second.WaitCommitted())
	equal(t, c.Read("copies").ByKey(), wantCounts(10, 2))
	must(t, second.Stop())
	must(t, first.Stop())
}

func TestCrashEverywhere(t *testing.T) {
	jobtest.CrashEverywhere(t, counts, map[string][]stream.Record{"views": views(30, 3)}, map[string]map[string][]string{"counts": wantCounts(30, 3)})
}

func TestCrashEverywhereOfAJobThatEnds(t *testing.T) {
	build := func() *job.Graph { return countsUntil("latest") }
	jobtest.CrashEverywhere(t, build, map[string][]stream.Record{"views": views(30, 3)}, nil)
}
